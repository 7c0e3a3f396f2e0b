//! The two commits of a `verify` order: the tip of the base branch, by whose plan it is judged, and
//! the commit that it is about.

use std::time::Duration;

use awo_domain::control::RunSpec;
use awo_domain::source::{Branch, GitSource};

use crate::git::GitError;
use crate::repository::{Head, Repository};
use crate::workspace::NoWorkspace;

/// The source of the base: of a `verify` order the branch whose plan counts.
pub(crate) fn source(spec: &RunSpec) -> GitSource {
    match &spec.gate {
        None => spec.source.clone(),
        Some(gate) => GitSource {
            repository: spec.source.repository.clone(),
            branch: gate.base.clone(),
            commit: None,
        },
    }
}

/// Fetches the commit that is to be verified, and fills the workspace with it.
pub(crate) async fn fetch_head(
    repository: &Repository,
    spec: &RunSpec,
    base: &str,
    limit: Duration,
) -> Result<Head, NoWorkspace> {
    let source = &spec.source;
    let named = source.commit.as_ref().map(|commit| commit.as_str());
    let named = named.or(spec.start_commit.as_deref());
    let fetched = async {
        let head = repository.fetch_head(source, named, base, limit).await?;
        repository.go_on_at(&head.commit).await?;
        Ok(head)
    };
    fetched.await.map_err(|why| match why {
        GitError::Stopped => NoWorkspace::Stopped,
        why => {
            let url = source.repository.as_str();
            let what = match (named, &source.branch) {
                (Some(commit), _) => format!("the commit {commit}"),
                (None, Some(branch)) => format!("the branch {}", Branch::as_str(branch)),
                (None, None) => "the default branch".to_owned(),
            };
            NoWorkspace::Failed(format!(
                "{what} of {url} could not be fetched to be verified: {why}. Push it, and name a commit \
                 by its whole id"
            ))
        }
    })
}
