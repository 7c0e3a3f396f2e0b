//! What the runner and the control function say to each other, and nothing else knows.
//!
//! The runner holds a single-use nonce (`<orgId>.<runId>.<secret>`) from its environment. It
//! draws a token of its own and trades the nonce for the right to use that token: a claim that
//! is repeated with the same token is answered again, so that a lost reply does no harm, and a
//! claim with another token is refused, so that a nonce seen by somebody else is worthless.
//!
//! Events carry the runner's own numbers, from 1 and without gaps: the store takes each number
//! once, in order, so that a repeated report changes nothing.

mod children;
mod diff;
mod log;
mod models;
mod wish;

use serde::{Deserialize, Serialize};

pub use children::{ChildResult, Children, ChildrenAnswer, Resumption, children_path};
pub use diff::{MAX_DIFF_BYTES, MAX_DIFF_GZIP_BYTES, SnapshotDiff, diff_path};
pub use log::{IterationLog, MAX_LOG_BYTES, logs_path};
pub use models::{ModelKey, Provider, Tariff};
pub use wish::Wish;

use crate::agent::Agent;
use crate::plugin::Plugin;
use crate::profile::Profile;
use crate::pull_request::PullRequestUrl;
use crate::run::RunErrorCode;
use crate::source::GitSource;
use crate::template::Hooks;
use crate::usage::ModelUsage;
use crate::verification::{Level, PluginResult, Status};
use crate::{OrgId, RunId, Timestamp, WorkOrderId};

/// The path of the claim; `POST` with a [`Claim`], answered by a [`RunSpec`].
pub const CLAIM_PATH: &str = "/control/claim";

/// The path of reports; `POST` with a [`Report`], answered by a [`ReportAnswer`].
#[must_use]
pub fn report_path(org: &OrgId, run: &RunId) -> String {
    format!("/control/{org}/runs/{run}/report")
}

/// The path of the last report; `POST` with a [`Finish`], answered by a [`ReportAnswer`].
#[must_use]
pub fn finish_path(org: &OrgId, run: &RunId) -> String {
    format!("/control/{org}/runs/{run}/finish")
}

/// Most events in one report.
pub const MAX_REPORTED_EVENTS: usize = 20;
/// How often a runner that has nothing to say reports all the same.
pub const HEARTBEAT_MS: u64 = 10_000;
/// How many files a conflict of merging names.
pub const MAX_CONFLICT_FILES: usize = 50;

/// Trades the nonce for a token.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claim {
    /// The nonce, whole.
    pub nonce: String,
    /// 64 lower-case hex digits that the runner drew; kept hashed by the service.
    pub token: String,
}

/// A credential for one git host.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitCredential {
    /// Host name, with the port where it is not 443.
    pub host: String,
    /// Sent as the password of basic authentication.
    pub token: String,
}

impl std::fmt::Debug for GitCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GitCredential {{ host: {:?}, .. }}", self.host)
    }
}

/// All that the runner needs to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSpec {
    /// The owner.
    pub org_id: OrgId,
    /// The work order.
    pub work_order_id: WorkOrderId,
    /// The run.
    pub run_id: RunId,
    /// The task.
    pub task_prompt: String,
    /// What to clone.
    pub source: GitSource,
    /// What is done after the clone.
    #[serde(default, skip_serializing_if = "Hooks::is_empty")]
    pub hooks: Hooks,
    /// True where `file://` repositories may be cloned.
    pub allow_file_repositories: bool,
    /// Who does the work.
    pub agent: Agent,
    /// The number of iterations that the work order asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_iterations: Option<u32>,
    /// The resolved profile.
    pub profile: Profile,
    /// The organization's verification plugins; those that are disabled run nowhere.
    pub plugins: Vec<Plugin>,
    /// Milliseconds that the run may take from now; the smaller of the profile's and the
    /// work order's limits.
    pub max_duration_ms: u64,
    /// What the run may cost at most, in credits.
    pub max_credits: f64,
    /// Credentials of the organization for git hosts; never shown to the agent.
    pub git_credentials: Vec<GitCredential>,
    /// Keys of the organization for models; never shown to the agent.
    #[serde(default)]
    pub model_keys: Vec<ModelKey>,
    /// What the budget is counted by.
    #[serde(default)]
    pub tariff: Tariff,
    /// The commit of the branch to begin from; without it the branch's newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_commit: Option<String>,
    /// What the run had come to, if it has waited for its children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumption: Option<Resumption>,
}

/// What happened in the run, in the runner's words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum RunnerEvent {
    /// The repository is cloned and the plan is frozen.
    WorkspaceReady {
        /// Base commit.
        commit: String,
        /// Base branch.
        branch: String,
        /// Absolute path of the workspace.
        work_dir: String,
    },
    /// The agent starts.
    IterationStarted {
        /// From 1.
        iteration: u32,
    },
    /// What the agent wrote lately, for whoever watches; a sample, with a log for the rest.
    AgentOutput {
        /// From 1.
        iteration: u32,
        /// In lines; of known programs their words and the tools that they call.
        text: String,
        /// How many bytes before it were left out.
        left_out_bytes: u64,
    },
    /// The agent's processes are gone.
    AgentFinished {
        /// From 1.
        iteration: u32,
        /// Whether the iteration may be verified.
        completed: bool,
        /// Exit code, where there was one.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Why the iteration failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The agent's own words.
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// Wall time.
        duration_ms: u64,
        /// What this iteration used.
        usage: Vec<ModelUsage>,
    },
    /// The iteration's changes are a commit.
    Committed {
        /// From 1.
        iteration: u32,
        /// Its hash.
        commit: String,
        /// How many files it touches.
        files_changed: u64,
    },
    /// The agent asked for children, and none was opened.
    ChildrenRefused {
        /// From 1.
        iteration: u32,
        /// Why.
        reason: String,
    },
    /// The children have ended, and what they did is merged.
    IntegrationStarted {
        /// Whose results, in the order in which they are merged.
        children: Vec<WorkOrderId>,
    },
    /// What a child did is part of the run's newest commit.
    ChildMerged {
        /// Which child.
        work_order_id: WorkOrderId,
        /// The commit that merges it.
        commit: String,
    },
    /// What a child did does not fit with what is there; the agent is to bring them together.
    MergeConflict {
        /// Which child.
        work_order_id: WorkOrderId,
        /// Files in conflict, the first [`MAX_CONFLICT_FILES`] of them.
        files: Vec<String>,
    },
    /// Verification starts.
    VerificationStarted {
        /// From 1.
        iteration: u32,
        /// What will be verified.
        levels: Vec<Level>,
    },
    /// Verification is through.
    VerificationFinished {
        /// From 1.
        iteration: u32,
        /// What was verified.
        levels: Vec<Level>,
        /// The worst result.
        overall_status: Status,
        /// One sentence.
        summary: String,
        /// By plugin.
        results: Vec<PluginResult>,
    },
    /// The result is on its way.
    DeliveryStarted {},
    /// The result branch is on the origin.
    Delivered {
        /// Its name there.
        branch: String,
        /// Its head.
        commit: String,
        /// Where its pull request is, if the profile wanted one and there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr_url: Option<PullRequestUrl>,
    },
    /// Something that the profile wants of the delivery was not done, and the run goes on.
    DeliverySkipped {
        /// Why.
        reason: String,
    },
}

/// An event with the runner's own number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NumberedEvent {
    /// From 1, without gaps.
    pub number: u64,
    /// When it happened, by the runner's clock.
    pub at: Timestamp,
    /// What happened.
    pub event: RunnerEvent,
}

/// A report; without events it is a heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Report {
    /// At most [`MAX_REPORTED_EVENTS`].
    pub events: Vec<NumberedEvent>,
}

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
    /// Not.
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
    /// A client's wish ended it, and nothing of it is alive.
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
    /// All that the run used, by model.
    pub usage: Vec<ModelUsage>,
}

/// What a run goes by from an iteration on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// The resolved profile.
    pub profile: Profile,
    /// Milliseconds that the run may take, from its claim.
    pub max_duration_ms: u64,
}

/// The answer to a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportAnswer {
    /// The highest event number that is kept.
    pub acknowledged: u64,
    /// What a client wants, if it wants the run to stop. From then on events are no longer kept;
    /// the last report is, once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wish: Option<Wish>,
    /// What the iteration goes by whose start was reported, as it is audited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Box<Configuration>>,
}
