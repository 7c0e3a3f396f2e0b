//! Selects the changes of a run that affect files an agent must not change.

use std::path::Path;
use std::time::Duration;

use awo_domain::verification::Check;
use tokio::time::Instant;

use super::error;
use crate::contained_process::ContainedProcesses;
use crate::git::GitError;
use crate::inspection::{Answer, Files, Inspector, MEMORY_MB, Paths, Task};
use crate::layout::Layout;
use crate::plan::{FrozenPlan, PLAN_FILE};
use crate::repository::Change;
use crate::stop::StopOutcome;

/// The check that stands for patterns that could not be compared with what changed.
const NAME: &str = "protected files";

/// Why there is no checkout to verify.
#[derive(Debug)]
pub(crate) enum NotPrepared {
    Git(GitError),
    /// The plan is such that nothing can be verified by it.
    Check(Check),
}

impl From<GitError> for NotPrepared {
    fn from(why: GitError) -> NotPrepared {
        NotPrepared::Git(why)
    }
}

impl From<StopOutcome> for NotPrepared {
    fn from(_: StopOutcome) -> NotPrepared {
        NotPrepared::Git(GitError::Stopped)
    }
}

/// The plan of a run, where it is held against what the run changed.
pub(crate) struct Guard<'a> {
    pub(crate) frozen: &'a FrozenPlan,
    pub(crate) processes: &'a ContainedProcesses,
    pub(crate) layout: &'a Layout,
    /// Whether test files of the base are protected, too.
    pub(crate) protect_tests: bool,
    /// Time for the inspection.
    pub(crate) limit: Duration,
}

impl Guard<'_> {
    /// The changes of protected files.
    pub(crate) async fn protected<'c>(
        &self,
        changes: &'c [Change],
    ) -> Result<Vec<&'c Change>, NotPrepared> {
        let by_plan = self.protected_by_plan(changes).await?;
        if !self.protect_tests {
            return Ok(by_plan);
        }
        let is_named = |change: &Change| by_plan.iter().any(|one| std::ptr::eq(*one, change));
        Ok(changes
            .iter()
            .filter(|change| is_named(change) || self.frozen.is_test_change(change))
            .collect())
    }

    async fn protected_by_plan<'c>(
        &self,
        changes: &'c [Change],
    ) -> Result<Vec<&'c Change>, NotPrepared> {
        let Some(globs) = self.frozen.plan.protected() else {
            let is_plan = |change: &&Change| change.path == Path::new(PLAN_FILE);
            return Ok(changes.iter().filter(is_plan).collect());
        };
        if globs.is_empty() || changes.is_empty() {
            return Ok(Vec::new());
        }
        let paths = changes.iter().map(|change| change.path.clone()).collect();
        let task = Task::Match {
            globs: globs.to_vec(),
            paths: Paths(paths),
        };
        let dir = self.layout.verify_root();
        let (home, tmp) = (self.layout.home(), self.layout.tmp());
        let inspector = Inspector {
            processes: self.processes,
            dir: &dir,
            home: &home,
            tmp: &tmp,
            request: self.layout.inspection(),
            memory_mb: MEMORY_MB,
        };
        let deadline = Instant::now() + self.limit;
        let answer = inspector.one(Files::default(), task, deadline).await?;
        match answer {
            Ok(Answer::Matching(numbers)) => Ok(numbers
                .into_iter()
                .filter_map(|number| changes.get(number))
                .collect()),
            Ok(_) => Err(NotPrepared::Check(error(NAME, "could not be judged"))),
            Err(fault) => Err(NotPrepared::Check(fault.check(NAME))),
        }
    }
}
