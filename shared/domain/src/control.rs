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
mod gate;
mod git;
mod log;
mod models;
mod outcome;
mod report;
mod stop_request;
mod wire_profile;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use baseline::{BaselineAnswer, BaselineRequest, MAX_BASELINE_BYTES, baseline_path};
pub use children::{ChildResult, Children, ChildrenAnswer, Resumption, children_path};
pub use claim::{CLAIM_PATH, Claim};
pub use diff::{MAX_DIFF_BYTES, MAX_DIFF_GZIP_BYTES, SnapshotDiff, diff_path};
pub use endpoints::{BaseUrl, ModelEndpoint, ProviderSettings};
pub use environment::{RegistryAccess, RunEnvironment, SecretValue, ServicePort};
pub use gate::{Gate, GateComparison};
pub use git::{CredentialKind, GitCredential, NotFetched};
pub use log::{IterationLog, MAX_LOG_BYTES, logs_path};
pub use models::{ModelKey, Provider, Tariff};
pub use outcome::{Finish, Outcome};
pub use report::{Configuration, NumberedEvent, Report, ReportAnswer};
pub use stop_request::StopRequest;

use crate::agent::Agent;
use crate::environment::{EnvironmentName, SecretPhase};
use crate::forge::ForgeSetting;
use crate::plugin::Plugin;
use crate::profile::Profile;
use crate::pull_request::PullRequestUrl;
use crate::source::GitSource;
use crate::template::Hooks;
use crate::usage::{ModelUsage, PricedUsage};
use crate::verification::{BaselineComparison, Evidence, Level, PluginResult, Status, TestCounts};
use crate::{OrgId, RunId, TaskPrompt, Timestamp, WorkOrderId};

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
}

/// What happened in the run, in the runner's words.
#[expect(
    clippy::large_enum_variant,
    reason = "an event is made, sent and dropped; few are held at once"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
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
        /// Number of commits to which a history that is too large to be fetched whole was cut.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depth: Option<u32>,
        /// Submodules that could not be fetched, and whose folders are empty; the first 50 of them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        submodules: Vec<NotFetched>,
    },
    /// The run has a credential for its git host, or another one instead of that.
    CredentialsIssued {
        /// Git host, with the port where it is not 443.
        host: String,
        /// Kind of the credential.
        kind: CredentialKind,
        /// Its end, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    },
    /// The environment's setup is done.
    EnvironmentReady {
        /// Its name.
        name: EnvironmentName,
        /// The folders that were found in the cache.
        restored: Vec<String>,
        /// Wall time.
        duration_ms: u64,
    },
    /// A step of the environment's setup has ended.
    EnvironmentStep {
        /// Name of the step.
        name: String,
        /// `setup` before the agent begins, `verify` in a clean checkout.
        phase: SecretPhase,
        /// Wall time.
        duration_ms: u64,
        /// Exit code, where there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    },
    /// The agent starts.
    IterationStarted {
        /// From 1.
        iteration: u32,
    },
    /// The agent's latest output, for viewers; a sample, the log has the rest.
    AgentOutput {
        /// From 1.
        iteration: u32,
        /// In lines; of known programs their messages and tool calls.
        text: String,
        /// The number of bytes before it that were left out.
        left_out_bytes: u64,
    },
    /// The provider of the agent's models did not answer, and the run waits for it.
    ProviderWaiting {
        /// The iteration that continues after the wait.
        iteration: u32,
        /// The provider of the models.
        provider: Provider,
        /// The provider's fault.
        reason: String,
        /// The duration of this wait, in milliseconds.
        wait_ms: u64,
    },
    /// The wait is over, and the agent goes on.
    ProviderResumed {
        /// The iteration.
        iteration: u32,
    },
    /// The agent's processes are gone.
    AgentFinished {
        /// From 1.
        iteration: u32,
        /// Whether the iteration can be verified.
        completed: bool,
        /// Exit code, where there was one.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Why the iteration failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The agent's own summary.
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// Wall time.
        duration_ms: u64,
        /// The tokens that this iteration used, by model.
        #[schema(value_type = Vec<ModelUsage>)]
        usage: Vec<PricedUsage>,
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
    /// What an agent did to protected files is undone in the run's newest commit.
    ProtectedRestored {
        /// From 1.
        iteration: u32,
        /// Their names, the first 50 of them.
        files: Vec<String>,
    },
    /// The plan is held against the base, before the agent begins.
    BaselineFinished {
        /// The worst result.
        overall_status: Status,
        /// One sentence.
        summary: String,
        /// By plugin.
        results: Vec<PluginResult>,
    },
    /// The children have ended, and what they did is merged.
    IntegrationStarted {
        /// The children whose results are merged, in order.
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
        /// Files in conflict, the first 50 of them.
        files: Vec<String>,
    },
    /// Verification starts.
    VerificationStarted {
        /// From 1.
        iteration: u32,
        /// The levels that will be verified.
        levels: Vec<Level>,
    },
    /// Verification is through.
    VerificationFinished {
        /// From 1.
        iteration: u32,
        /// The verified levels.
        levels: Vec<Level>,
        /// The worst result.
        overall_status: Status,
        /// One sentence.
        summary: String,
        /// By plugin.
        results: Vec<PluginResult>,
        /// Comparison with the base of its gate: of a `verify` order, or where files of the gate changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gate: Option<GateComparison>,
        /// Comparison of the failures with those of the base.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        baseline: Option<BaselineComparison>,
        /// True if it passes, and tests are known to have run and passed.
        #[serde(default)]
        verified: bool,
        /// Evidence that tests ran and passed.
        #[serde(default, skip_serializing_if = "Evidence::is_none")]
        evidence: Evidence,
        /// Counted tests of all commands.
        #[serde(default, skip_serializing_if = "TestCounts::is_zero")]
        tests: TestCounts,
        /// Test files of the base that the run changed or removed, the first
        /// 50 of them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tests_changed: Vec<String>,
        /// Files and folders that the agent made and git ignores, so that no commit has them; the
        /// first 50 of them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ignored: Vec<String>,
        /// Caches, dependencies and build output that git does not ignore, and that were not
        /// committed; the first 50 of them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        litter: Vec<String>,
    },
    /// The result is on its way.
    DeliveryStarted {},
    /// The result branch is on the origin.
    Delivered {
        /// Its name on the origin.
        branch: String,
        /// Its head.
        commit: String,
        /// The URL of its pull request, if one was opened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<String>)]
        pr_url: Option<PullRequestUrl>,
    },
    /// Something that the profile wants of the delivery was not done, and the run goes on.
    DeliverySkipped {
        /// Why.
        reason: String,
    },
}
