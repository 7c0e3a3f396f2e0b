//! How a run requests children, leaves its compute to wait for them, and continues when they have
//! ended.
//!
//! 1. An agent's result file requests children. The runner commits, pushes the run's branch, so
//!    that children can begin from its commit, and posts [`Children`]: all are created or none.
//! 2. The runner finishes with [`crate::control::Outcome::Waiting`]; the slot returns with the task.
//! 3. When all children have succeeded, the run gets a new slot and runner, whose
//!    [`crate::control::RunSpec`] has a [`Resumption`]. It merges their results, in order, and
//!    verifies the whole.

use serde::{Deserialize, Serialize};

use crate::usage::PricedUsage;
use crate::{OrgId, RunId, WorkOrderId};

/// The path of requests for children; `POST` with [`Children`], answered by a [`ChildrenAnswer`].
#[must_use]
pub fn children_path(org: &OrgId, run: &RunId) -> String {
    format!("/control/{org}/runs/{run}/children")
}

/// What an agent wants done by others. Repeating it opens nothing twice: the answer is the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Children {
    /// The iteration whose agent asked.
    pub iteration: u32,
    /// The run's newest commit, from which they begin.
    pub commit: String,
    /// The branch on the origin on which it stands.
    pub branch: String,
    /// All that the run has used so far, by model: what is left of its hold is the family's.
    pub usage: Vec<PricedUsage>,
    /// Bodies as for a create, without `workspaceSource`, as the agent wrote them.
    pub children: Vec<serde_json::Value>,
}

/// What became of the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildrenAnswer {
    /// The children that were opened, in the order of the request; all or none.
    pub opened: Vec<WorkOrderId>,
    /// Why none was, for the agent: each fault with its place (`/children/0/taskPrompt`).
    pub errors: Vec<String>,
}

/// A run's state when it left its compute to wait for its children.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resumption {
    /// The commit with which the run began; its plan is frozen there.
    pub base: String,
    /// The run's newest commit.
    pub commit: String,
    /// The branch on the origin on which that stands; absent where the run changed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Iterations that the run has had.
    pub iterations: u32,
    /// What it has used, by model.
    pub usage: Vec<PricedUsage>,
    /// Its agent's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Children that succeeded and whose repository is the run's own, oldest first.
    pub children: Vec<ChildResult>,
}

/// What a child has done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildResult {
    /// Which child.
    pub work_order_id: WorkOrderId,
    /// Its newest commit, if it changed anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The branch on the origin on which that stands, if it was pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}
