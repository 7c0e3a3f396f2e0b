//! The protocol between the runner and the control function.
//!
//! The runner has a single-use nonce (`<orgId>.<runId>.<secret>`) in its environment. It generates
//! a token and exchanges the nonce for the right to use that token. A repeated claim with the same
//! token succeeds again, so a lost response does no harm; a claim with another token is refused, so
//! a leaked nonce is worthless.
//!
//! Events carry the runner's own numbers, from 1 and without gaps: the store accepts each number
//! once, in order, so a repeated report changes nothing.

mod baseline;
pub mod bedrock;
mod children;
mod claim;
mod diff;
mod endpoints;
mod environment;
mod event;
mod gate;
mod git;
mod log;
mod models;
mod outcome;
mod report;
mod stop_request;
mod thread;
mod wire_profile;

use serde::{Deserialize, Serialize};

pub use baseline::{BaselineAnswer, BaselineRequest, MAX_BASELINE_BYTES, baseline_path};
pub use children::{ChildResult, Children, ChildrenAnswer, Resumption, children_path};
pub use claim::{CLAIM_PATH, Claim};
pub use diff::{MAX_DIFF_BYTES, MAX_DIFF_GZIP_BYTES, SnapshotDiff, diff_path};
pub use endpoints::{BaseUrl, ModelEndpoint, ProviderSettings};
pub use environment::{RegistryAccess, RunEnvironment, SecretValue, ServicePort};
pub use event::RunnerEvent;
pub use gate::{Gate, GateComparison};
pub use git::{CredentialKind, GitCredential, NotFetched};
pub use log::{IterationLog, MAX_LOG_BYTES, logs_path};
pub use models::{ModelKey, Provider, Tariff};
pub use outcome::{Finish, Outcome};
pub use report::{Configuration, NumberedEvent, Report, ReportAnswer};
pub use stop_request::StopRequest;
pub use thread::{
    EarlierTurn, MAX_TURN_PROMPT, MAX_TURN_SUMMARY, PreviousRun, RunThread, TurnContext,
    TurnDelivery, TurnEnd, TurnOrigin, TurnPoint, TurnRecord, turn_path,
};

use crate::agent::Agent;
use crate::forge::ForgeSetting;
use crate::plugin::Plugin;
use crate::profile::Profile;
use crate::source::{Branch, GitSource};
use crate::template::Hooks;
use crate::{OrgId, RunId, TaskPrompt, WorkOrderId};

/// A header of every answer of the control function, whatever its status. A refusal without it comes from
/// something in between (a firewall, the gateway, a proxy) and means nothing for the run.
pub const ANSWER_MARK: &str = "x-awo-control";

/// Largest body that the control API takes from a runner, in bytes.
pub const MAX_BODY_BYTES: usize = 1_048_576;

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
/// Interval of reports without content (heartbeats).
pub const HEARTBEAT_MS: u64 = 10_000;
/// How long a run waits for providers in all, without being charged for it.
pub const PROVIDER_WAIT_MS: u64 = 900_000;
/// How many files a conflict of merging names.
pub const MAX_CONFLICT_FILES: usize = 50;
/// How many files an event names.
pub const MAX_NAMED_FILES: usize = 50;
/// Longest name of a file in an event, in characters.
pub const MAX_FILE_NAME: usize = 300;

/// Most runs have never waited, and the release before this one does not know of it.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde gives a reference to the field"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
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
    pub task_prompt: TaskPrompt,
    /// What to clone.
    pub source: GitSource,
    /// What is done after the clone.
    #[serde(default, skip_serializing_if = "Hooks::is_empty")]
    pub hooks: Hooks,
    /// True where `file://` repositories may be cloned.
    pub allow_file_repositories: bool,
    /// The agent.
    pub agent: Agent,
    /// The number of iterations that the work order asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_iterations: Option<u32>,
    /// The resolved profile.
    #[serde(with = "wire_profile")]
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
    /// Forge of the repository's host, if the operator has set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge: Option<ForgeSetting>,
    /// Keys of the organization for models; never shown to the agent.
    #[serde(default)]
    pub model_keys: Vec<ModelKey>,
    /// The base URLs of providers that are not called at their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_endpoints: Vec<ModelEndpoint>,
    /// Amazon Bedrock, where it answers Messages instead of Anthropic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bedrock: Option<bedrock::BedrockAccess>,
    /// What the budget is counted by.
    #[serde(default)]
    pub tariff: Tariff,
    /// The commit of the branch to begin from; without it the branch's newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_commit: Option<String>,
    /// The gate of a `verify` order, which has no agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// How many work orders are above this one.
    #[serde(default)]
    pub depth: u32,
    /// The work order of which this one is a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<WorkOrderId>,
    /// The run's state before it waited for its children, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumption: Option<Resumption>,
    /// How long it has waited for providers before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub provider_waited_ms: u64,
    /// Where its commands happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<RunEnvironment>,
    /// Its thread; absent of a work order that an agent requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Box<RunThread>>,
    /// True if the target branch's head is merged before the agent begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merge_target: bool,
    /// The existing branch on which the run begins and onto which its result is pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_branch: Option<Branch>,
}
