//! Events of a run, as its runner reports them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{CredentialKind, GateComparison, NotFetched, Provider, TurnContext, TurnOrigin};
use crate::environment::{EnvironmentName, SecretPhase};
use crate::pull_request::PullRequestUrl;
use crate::usage::{ModelUsage, PricedUsage};
use crate::verification::{BaselineComparison, Evidence, Level, PluginResult, Status, TestCounts};
use crate::{Timestamp, WorkOrderId};

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
    /// The workspace of a turn that continues a thread is ready.
    FollowupReady {
        /// Turn of the thread, from 2.
        turn: u32,
        /// Origin of the workspace.
        from: TurnOrigin,
        /// Commit with which the turn begins.
        commit: String,
        /// The agent's knowledge of earlier turns.
        context: TurnContext,
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
    /// What a child did, or the target branch, does not fit with what is there; the agent is to bring them together.
    MergeConflict {
        /// Which child.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        work_order_id: Option<WorkOrderId>,
        /// Branch of the origin that was merged, where it is no child's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        branch: Option<String>,
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
        /// Hash of all that decides how a commit is judged, beside the environment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan_hash: Option<String>,
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
