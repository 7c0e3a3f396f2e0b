//! The commit with which a run begins, and, of a turn of a thread, what it is held against.

use awo_domain::control::TurnOrigin;

use super::{Head, MissingSubmodule, Point};

/// Start of a run.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) commit: String,
    /// The branch into which the result goes at last.
    pub(crate) branch: String,
    /// Number of commits to which a history that is too large was cut.
    pub(crate) depth: Option<u32>,
    /// The commit that a `verify` order is about, beside the base that judges it.
    pub(crate) head: Option<Head>,
    /// Commit of `branch`, where the run does not begin there.
    pub(crate) branch_head: Option<String>,
    /// Existing branch onto which the result is pushed.
    pub(crate) result_branch: Option<String>,
    /// The thread that the run continues.
    pub(crate) thread: Option<ThreadBase>,
    /// Submodules that could not be fetched.
    pub(crate) missing_submodules: Vec<MissingSubmodule>,
}

/// Base of a thread, beside the commit with which a later turn begins.
#[derive(Debug, Clone)]
pub(crate) struct ThreadBase {
    /// The commit with which the first turn began.
    pub(crate) commit: String,
    /// The commit with the reference content of each path; it is in the runner's repository alone.
    pub(crate) reference: String,
    /// Moments at which others changed something, oldest first.
    pub(crate) points: Vec<Point>,
    pub(crate) origin: TurnOrigin,
    /// Tree of the last delivery, where others changed something since.
    pub(crate) delivered_tree: Option<String>,
    /// Head of the target branch that is merged before the agent begins.
    pub(crate) merged: Option<String>,
}

impl ThreadBase {
    /// The base of a run that is the first to begin at `commit`.
    pub(crate) fn beginning_at(commit: String) -> ThreadBase {
        ThreadBase {
            reference: commit.clone(),
            commit,
            points: Vec::new(),
            origin: TurnOrigin::Branch,
            delivered_tree: None,
            merged: None,
        }
    }
}

impl Base {
    /// The commit whose plan, tests and protected files count.
    pub(crate) fn reference(&self) -> &str {
        self.thread
            .as_ref()
            .map_or(&self.commit, |thread| &thread.reference)
    }

    /// The commit whose failing checks are not the run's.
    pub(crate) fn baseline(&self) -> &str {
        self.thread
            .as_ref()
            .map_or(&self.commit, |thread| &thread.commit)
    }
}
