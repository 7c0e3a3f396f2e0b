//! A run's thread: the turns before it, for the runner, and the runner's record of its turn, for the
//! turns after it.
//!
//! 1. [`RunSpec::thread`](crate::control::RunSpec) has the thread as it was when the run was claimed.
//! 2. The runner posts a [`TurnRecord::Begun`] before the agent begins, a [`TurnRecord::Delivering`] before
//!    it pushes, and a [`TurnRecord::Delivered`] after it. A repeated record changes nothing.
//! 3. [`Finish`](crate::control::Finish) has a [`TurnEnd`]: the agent's summary and its session.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::agent::AgentType;
use crate::pull_request::PullRequestUrl;
use crate::verification::PluginResult;
use crate::work_order::WorkOrderStatus;
use crate::{OrgId, RunId, WorkOrderId};

/// Longest prompt of an earlier turn in a [`RunThread`], in characters; a longer one is cut there.
pub const MAX_TURN_PROMPT: usize = 4_000;
/// Longest summary of a turn, in characters.
pub const MAX_TURN_SUMMARY: usize = 4_000;

/// The path of the record of a turn; `POST` with a [`TurnRecord`], answered by an empty object.
#[must_use]
pub fn turn_path(org: &OrgId, run: &RunId) -> String {
    format!("/control/{org}/runs/{run}/turn")
}

/// The thread of a run. A work order that an agent requested has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunThread {
    /// The id of the first turn's work order.
    pub thread_id: WorkOrderId,
    /// The turn of the run, from 1.
    pub turn: u32,
    /// The commit with which the first turn began; absent until one has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<String>,
    /// The branch on the origin that has the last delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The branch from which the last turn's branch came, and into which its pull request goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The pull request of `branch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequestUrl>,
    /// Turns before this one, oldest first; none of those that were purged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<EarlierTurn>,
    /// The newest run of the thread that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<PreviousRun>,
    /// The newest run of another turn that had compute. Its work is where this turn begins, if nothing of the
    /// thread is on a branch. A further run of the same turn does not begin with what its first one left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_turns_run: Option<RunId>,
    /// Starts of earlier turns whose tree was not that of the delivery before: others had changed
    /// something. Oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<TurnPoint>,
    /// Commits that runs of the thread delivered, or were about to push, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<TurnDelivery>,
}

/// A turn before the run's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EarlierTurn {
    /// From 1.
    pub turn: u32,
    /// The task, cut at [`MAX_TURN_PROMPT`].
    pub task_prompt: String,
    /// The summary of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The status of the work order.
    pub status: WorkOrderStatus,
}

/// The newest run of the thread that has ended, as far as the next one continues it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreviousRun {
    /// The run.
    pub run_id: RunId,
    /// The type of its agent; a session of another type cannot be resumed.
    pub agent: AgentType,
    /// Failed results of its last verification.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<PluginResult>,
    /// The end of the run, where its runner reported one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<TurnEnd>,
}

/// A start of a turn after changes that were not the service's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnPoint {
    /// The turn that began.
    pub turn: u32,
    /// The tree of the last delivery before it; before the first delivery that of the thread's base commit.
    pub delivered_tree: String,
    /// The tree at the start of the turn.
    pub start_tree: String,
    /// The commit at the start of the turn, which keeps the tree's content.
    pub start_commit: String,
    /// The head of the target branch that was merged then. `start_commit` is the commit before that merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<String>,
}

/// A commit that a run of the thread pushed, or was about to push.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnDelivery {
    /// The turn.
    pub turn: u32,
    /// The commit.
    pub commit: String,
    /// The tree of the commit.
    pub tree: String,
    /// The branch on the origin.
    pub branch: String,
    /// True once the push has succeeded. A runner that ended in between leaves it false: the commit is
    /// delivered if the branch has it.
    #[serde(default)]
    pub confirmed: bool,
}

/// The record of a turn, by its runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum TurnRecord {
    /// The workspace is ready, and the agent has not begun.
    Begun {
        /// The commit with which the turn begins, before a merge of the target branch.
        commit: String,
        /// The tree of that commit.
        tree: String,
        /// The tree of the last delivery, where others changed something since.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delivered_tree: Option<String>,
        /// The head of the target branch that is merged before the agent begins. A record with it makes a
        /// point, with the tree itself as the delivered one where others changed nothing else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merged: Option<String>,
        /// The branch from which the work comes, and into which a pull request goes.
        target: String,
    },
    /// Others pushed to the branch during the turn. It makes a point of this turn, as a `Begun` with a
    /// delivered tree does.
    Moved {
        /// The new head of the branch.
        commit: String,
        /// The tree of that commit.
        tree: String,
        /// The tree of the head before.
        delivered_tree: String,
    },
    /// The commit is verified, and is about to be pushed.
    Delivering {
        /// The commit.
        commit: String,
        /// The tree of the commit.
        tree: String,
        /// The branch on the origin.
        branch: String,
    },
    /// The commit is on the origin.
    Delivered {
        /// The commit, of which a `Delivering` was recorded.
        commit: String,
        /// The pull request, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pull_request: Option<PullRequestUrl>,
    },
}

/// The end of a turn, for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnEnd {
    /// The agent's own summary; the service cuts it at [`MAX_TURN_SUMMARY`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The agent's session, where it is stored with the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Longest id of an agent's session, in characters.
const MAX_SESSION_ID: usize = 200;

impl TurnEnd {
    /// The end as it is stored: with a summary of at most [`MAX_TURN_SUMMARY`], and without a session whose
    /// id is too long to be one.
    #[must_use]
    pub fn bounded(&self) -> TurnEnd {
        let cut = |text: &String| text.chars().take(MAX_TURN_SUMMARY).collect();
        let session = self.session_id.as_ref();
        let session = session.filter(|id| id.chars().count() <= MAX_SESSION_ID);
        TurnEnd {
            summary: self.summary.as_ref().map(cut),
            session_id: session.cloned(),
        }
    }
}

/// The origin of the workspace of a turn that continues a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnOrigin {
    /// The head of the thread's branch on the origin.
    Branch,
    /// The stored workspace of the turn before, which delivered nothing.
    Workspace,
    /// The target branch, because the pull request is merged or closed, or the branch is gone.
    Target,
    /// The thread's base branch.
    Base,
}

/// The agent's knowledge of earlier turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnContext {
    /// The session of the turn before is resumed.
    Session,
    /// The prompt has earlier prompts, summaries and failing checks.
    Summary,
}
