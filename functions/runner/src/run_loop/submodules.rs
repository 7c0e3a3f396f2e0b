//! Submodules in reports of a run: those that are missing, and those that cannot be delivered.

use awo_domain::agent::Feedback;
use awo_domain::control::{MAX_NAMED_FILES, NotFetched, RunnerEvent};
use awo_domain::verification::{Check, Status};

use super::Work;
use super::protection::path_names;
use crate::output::printable;
use crate::repository::{Base, MissingSubmodule};
use crate::verify;

/// The name of feedback and check.
const NAME: &str = "submodules";

/// The submodules of the base that could not be fetched, for its event.
pub(super) fn missing_submodules(base: &Base) -> Vec<NotFetched> {
    let missing = base.missing_submodules.iter().take(MAX_NAMED_FILES);
    missing.map(not_fetched).collect()
}

fn not_fetched(missing: &MissingSubmodule) -> NotFetched {
    NotFetched {
        path: path_names([&missing.path]).concat(),
        reason: printable(&missing.reason),
    }
}

/// The agent's message about them.
pub(super) fn submodules_feedback(base: &Base) -> Option<Feedback> {
    let named = described(&base.missing_submodules)?;
    Some(Feedback {
        level: None,
        check: NAME.to_owned(),
        message: format!(
            "these submodules could not be fetched, and their folders are empty: {named}"
        ),
    })
}

/// The check of a commit that cannot be delivered, since others could not fetch its submodules.
pub(super) fn unpublished_check(unpublished: &[MissingSubmodule]) -> Option<Check> {
    let named = described(unpublished)?;
    let message = format!(
        "a change of a submodule is delivered only if its remote has the commit: {named}. Go back \
         to a commit that is there"
    );
    Some(verify::check(NAME, Status::Failed, &message))
}

fn described(missing: &[MissingSubmodule]) -> Option<String> {
    let named = missing.iter().map(|missing| {
        let NotFetched { path, reason } = not_fetched(missing);
        format!("{path} ({reason})")
    });
    let named: Vec<String> = named.take(MAX_NAMED_FILES).collect();
    (!named.is_empty()).then(|| named.join(", "))
}

impl Work<'_> {
    /// Reports the workspace, and the submodules that are not in it.
    pub(super) async fn report_workspace(&self) {
        let ready = RunnerEvent::WorkspaceReady {
            commit: self.base.commit.clone(),
            branch: self.base.branch.clone(),
            work_dir: self.layout.workspace().to_string_lossy().into_owned(),
            depth: self.base.depth,
            submodules: missing_submodules(&self.base),
        };
        self.reporter.event(ready).await;
    }
}
