//! Changes of GitHub's workflows: a token of an App, which has no permission for them, cannot push them.

use std::path::Path;

use awo_domain::profile::GitMode;
use awo_domain::run::RunErrorCode;
use awo_domain::verification::{Check, Status};

use super::protection::path_names;
use super::{Abort, Work, fail};
use crate::git::GitError;
use crate::stop::StopOutcome;
use crate::verify;

/// Name of the check.
const NAME: &str = "workflows";
/// Folder of workflows.
const FOLDER: &str = ".github/workflows";

impl Work<'_> {
    /// The check of a commit whose changes of workflows the host would refuse.
    pub(super) async fn workflows_check(&self, commit: &str) -> Result<Option<Check>, Abort> {
        let is_pushed =
            self.spec.profile.git_ops.mode != GitMode::Local && self.spec.gate.is_none();
        if !is_pushed || !self.credentials.are_of_app().await {
            return Ok(None);
        }
        let changes = self.repository.changes(&self.base.commit, commit).await;
        let changes = changes.map_err(|why| match why {
            GitError::Stopped => Abort::Stopped(StopOutcome::default()),
            why => {
                let message = format!("the commit's changes could not be listed: {why}");
                fail(RunErrorCode::WorkspaceFailed, &message)
            }
        })?;
        let paths = changes.iter().map(|change| &change.path);
        let paths = paths.filter(|path| path.starts_with(Path::new(FOLDER)));
        let named = path_names(paths);
        if named.is_empty() {
            return Ok(None);
        }
        let message = format!(
            "the organization's GitHub App has no permission to change workflows, so that the host would \
             refuse the result: undo the changes of {}",
            named.join(", ")
        );
        Ok(Some(verify::check(NAME, Status::Failed, &message)))
    }
}
