//! The state of a run that has waited for its children: its own newest commit, and the children's
//! results, all fetched from the origin and compared with the service's data.

use std::time::Duration;

use awo_domain::WorkOrderId;
use awo_domain::control::{ChildResult, Resumption};
use awo_domain::source::GitSource;
use tokio::time::Instant;

use crate::git::GitError;
use crate::repository::Repository;
use crate::workspace::NoWorkspace;

/// The folder of the run's own branch.
const OWN: &str = "refs/awo/run";

/// What a child's commit is called in the runner's repository and in the agent's copy, without
/// `refs/`; conflict markers name it so, too.
pub(crate) fn label(child: &WorkOrderId) -> String {
    format!("awo/children/{child}")
}

/// Children that changed something.
pub(crate) fn with_commits(resumption: &Resumption) -> impl Iterator<Item = (&ChildResult, &str)> {
    let children = resumption.children.iter();
    children.filter_map(|child| Some((child, child.commit.as_deref()?)))
}

/// Fetches all of it within `limit`, and fills the workspace with the run's newest commit.
pub(crate) async fn fetch(
    repository: &Repository,
    source: &GitSource,
    resumption: &Resumption,
    limit: Duration,
) -> Result<(), NoWorkspace> {
    let deadline = Instant::now() + limit;
    let left = || deadline.saturating_duration_since(Instant::now());
    let commit = &resumption.commit;
    let fetched = match &resumption.branch {
        Some(branch) => {
            let fetch = repository.fetch_commit(source, branch, commit, OWN, left());
            fetch.await
        }
        None if *commit == resumption.base => Ok(()),
        None => Err(GitError::Failed(
            "the run was not pushed, which a run with children requires: set gitOps.mode of its \
             profile to a mode other than local, and have the operator \
             set a credential that allows pushes"
                .to_owned(),
        )),
    };
    let fetched = match fetched {
        Ok(()) => repository.go_on_at(commit).await,
        Err(why) => Err(why),
    };
    fetched.map_err(|why| match why {
        GitError::Stopped => NoWorkspace::Stopped,
        why => NoWorkspace::Failed(format!(
            "the run's commit {commit}, from which it goes on after its children, cannot be \
             fetched: {why}"
        )),
    })?;
    for (child, commit) in with_commits(resumption) {
        let id = &child.work_order_id;
        let Some(branch) = &child.branch else {
            return Err(NoWorkspace::NoChild(format!(
                "the child {id} has changed something, and its result is not on the origin: have \
                 the operator set a credential that allows pushes, and let gitOps.mode of its \
                 profile not be local"
            )));
        };
        let name = format!("refs/{}", label(id));
        let fetch = repository.fetch_commit(source, branch, commit, &name, left());
        fetch.await.map_err(|why| match why {
            GitError::Stopped => NoWorkspace::Stopped,
            why => NoWorkspace::NoChild(format!(
                "the result of the child {id} cannot be fetched: {why}"
            )),
        })?;
    }
    Ok(())
}
