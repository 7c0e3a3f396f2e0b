//! A runner's final report: how its run ended, and its usage.

use serde::{Deserialize, Serialize};

use super::{NumberedEvent, TurnEnd};
use crate::pull_request::PullRequestUrl;
use crate::run::RunErrorCode;
use crate::usage::PricedUsage;

/// How a run ended, in the runner's eyes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Outcome {
    /// Verified and delivered.
    Succeeded {
        /// The result's head, if anything was changed.
        #[serde(skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        /// The branch on the origin, if it was pushed.
        #[serde(skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// Where its pull request is, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr_url: Option<PullRequestUrl>,
    },
    /// It failed.
    Failed {
        /// Why, for programs.
        code: RunErrorCode,
        /// Why, for people.
        message: String,
        /// The last commit there is.
        #[serde(skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// It is not over: its agent is done, and its children are not.
    Waiting {
        /// The commit with which the run began.
        base: String,
        /// Its newest commit.
        commit: String,
        /// The branch on the origin on which that stands.
        branch: String,
        /// The agent's session.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
    },
    /// A client's stop request ended it, and nothing of it is alive.
    Stopped {
        /// True if something had to be killed with SIGKILL.
        forced: bool,
        /// The last commit there is.
        #[serde(skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
}

impl Outcome {
    /// What it is, without anything that an agent wrote.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Outcome::Succeeded { .. } => "succeeded",
            Outcome::Failed { .. } => "failed",
            Outcome::Waiting { .. } => "waiting",
            Outcome::Stopped { .. } => "stopped",
        }
    }

    /// Why the run failed, if it did.
    #[must_use]
    pub fn error_code(&self) -> Option<RunErrorCode> {
        match self {
            Outcome::Failed { code, .. } => Some(*code),
            _ => None,
        }
    }
}

/// The last report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Finish {
    /// Events that no report has brought yet.
    pub events: Vec<NumberedEvent>,
    /// How it ended.
    pub outcome: Outcome,
    /// Iterations begun.
    pub iterations: u32,
    /// All that the run used, by model, priced call by call.
    pub usage: Vec<PricedUsage>,
    /// False if no process of client code has started: no hook, no setup, no agent, no check. Then
    /// nothing is paid.
    #[serde(default = "is_executed")]
    pub executed: bool,
    /// True if the runner has searched and found no process of the run alive: proof of its death, whatever
    /// the runner and its task still do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing_alive: bool,
    /// The end of its turn, for the next one of the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnEnd>,
}

/// A runner that does not report this has started a process of client code.
fn is_executed() -> bool {
    true
}
