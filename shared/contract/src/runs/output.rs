//! Runs as the API shows them.

use std::collections::BTreeMap;

use awo_domain::event::TimelineEvent;
use awo_domain::money::{MicroCredits, NanoUsd};
use awo_domain::pull_request::PullRequestUrl;
use awo_domain::run::{Phase, RunFailure, RunStatus};
use awo_domain::run_report::RunReport;
use awo_domain::usage::PricedUsage;
use awo_domain::verification::{BaselineComparison, VerificationOutcome};
use awo_domain::work_order::TenantContext;
use awo_domain::{RunId, Timestamp, WorkOrderId};
use awo_store::runs::Run;
use serde::Serialize;
use utoipa::ToSchema;

/// The usage of one model.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RunModelUsage)]
struct RunModelShape {
    /// All input tokens, cached ones included.
    input_tokens: u64,
    /// Output tokens.
    output_tokens: u64,
    /// Input tokens that the provider read from its cache.
    cached_input_tokens: u64,
    /// Their cost; absent if no price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<NanoUsd>,
}

/// The usage summary's numbers for one run.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RunUsageShape<'a> {
    /// Input tokens of all models, cached ones included.
    total_input_tokens: u64,
    /// Output tokens of all models.
    total_output_tokens: u64,
    /// Input tokens that providers read from their caches.
    total_cached_input_tokens: u64,
    /// The cost of the models, as far as prices are known.
    total_cost_usd: NanoUsd,
    /// The same by model.
    by_model: BTreeMap<&'a str, RunModelShape>,
    /// Models without a known price; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unpriced_models: Vec<&'a str>,
}

impl<'a> RunUsageShape<'a> {
    fn of(usage: &'a [PricedUsage]) -> RunUsageShape<'a> {
        let sum = |of: fn(&PricedUsage) -> u64| usage.iter().map(of).sum();
        RunUsageShape {
            total_input_tokens: sum(|u| u.usage.input_tokens),
            total_output_tokens: sum(|u| u.usage.output_tokens),
            total_cached_input_tokens: sum(|u| u.usage.cached_input_tokens),
            total_cost_usd: PricedUsage::total(usage),
            by_model: usage
                .iter()
                .map(|one| {
                    let shape = RunModelShape {
                        input_tokens: one.usage.input_tokens,
                        output_tokens: one.usage.output_tokens,
                        cached_input_tokens: one.usage.cached_input_tokens,
                        cost_usd: one.cost_usd_nano.map(NanoUsd::from_nano),
                    };
                    (one.usage.model.as_str(), shape)
                })
                .collect(),
            unpriced_models: usage
                .iter()
                .filter(|one| one.cost_usd_nano.is_none())
                .map(|one| one.usage.model.as_str())
                .collect(),
        }
    }
}

/// The cost of a run.
#[derive(Debug, Serialize, ToSchema)]
struct RunCostShape {
    /// The charge, in credits.
    credits: MicroCredits,
    /// The cost of the models, in US dollars.
    usd: NanoUsd,
}

/// A run.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunShape<'a> {
    /// Its id.
    run_id: &'a RunId,
    /// Its work order.
    work_order_id: &'a WorkOrderId,
    /// Its status.
    status: RunStatus,
    /// Its phase; absent unless it has compute.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<Phase>,
    /// The iteration that began last; 0 before the first.
    iteration: u32,
    /// The most iterations it may have.
    max_iterations: u32,
    /// When it was created.
    created_at: Timestamp,
    /// When it got its slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    /// Since when none of its processes is alive.
    #[serde(skip_serializing_if = "Option::is_none")]
    compute_stopped_at: Option<Timestamp>,
    /// When its charge became final.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_at: Option<Timestamp>,
    /// The result branch on the origin, if it was pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    /// Its newest commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    /// The pull request of its result, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pr_url: Option<&'a str>,
    /// True if its last verification passed, and tests are known to have run and passed.
    verified: bool,
    /// Outcome of its last verification; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    verification: Option<VerificationOutcome>,
    /// Test files of its base that it changed or removed and that are not protected; at most 50.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tests_changed: &'a [String],
    /// The number of commits of the base branch that a `verify` order's commit does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<u64>,
    /// Files that decide what the commands of its verification do, and that it changed: the plan, scripts,
    /// configuration; of a `verify` order's commit the protected ones, too; at most 50.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    gate_changed: &'a [String],
    /// Failures of its last verification that the base has, too, and those that it lacks; absent if none were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<&'a BaselineComparison>,
    /// Reports to the forge; absent if the profile of the run asks for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reports: Vec<&'a RunReport>,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RunFailure<'a>>,
    /// The tokens that it used; absent before the first are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<RunUsageShape<'a>>,
    /// Its cost; absent until `settledAt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<RunCostShape>,
    /// The absolute path of its workspace, stored for 24 hours after the end by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    work_dir: Option<&'a str>,
    /// The tenant of its work order.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_context: Option<&'a TenantContext>,
}

impl<'a> From<&'a Run> for RunShape<'a> {
    fn from(run: &'a Run) -> RunShape<'a> {
        RunShape {
            run_id: &run.run_id,
            work_order_id: &run.work_order_id,
            status: run.status,
            phase: run.phase,
            iteration: run.iteration,
            max_iterations: run.max_iterations,
            created_at: run.created_at,
            started_at: run.started_at,
            completed_at: run.completed_at,
            compute_stopped_at: run.compute_stopped_at,
            settled_at: run.settled_at,
            branch: run.branch.as_deref(),
            commit: run.commit.as_deref(),
            pr_url: run.pr_url.as_ref().map(PullRequestUrl::as_str),
            verified: run.verified,
            verification: run.verification,
            tests_changed: &run.tests_changed,
            behind: run.gate.as_ref().and_then(|gate| gate.behind),
            gate_changed: run.gate.as_ref().map_or(&[], |gate| &gate.gate_changed),
            baseline: run.baseline.as_ref(),
            reports: run.reports(),
            error: run.error.as_ref().map(RunFailure::from),
            usage: (run.status.is_terminal() || !run.usage.is_empty())
                .then(|| RunUsageShape::of(&run.usage)),
            cost: run.cost.as_ref().map(|cost| RunCostShape {
                credits: MicroCredits::from_micro(cost.credits_micro),
                usd: NanoUsd::from_nano(cost.usd_nano),
            }),
            work_dir: run.work_dir.as_deref(),
            tenant_context: run.tenant_context.as_ref(),
        }
    }
}

/// A run that was just started.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StartedRun)]
pub struct StartedRunShape<'a> {
    /// The new run.
    pub run_id: &'a RunId,
    /// `building` if a slot was free, else `queued`.
    pub status: RunStatus,
    /// When the start was accepted.
    pub started_at: Timestamp,
}

/// A page of a run's timeline.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RunEventPage)]
pub struct TimelineShape {
    /// In order.
    pub events: Vec<TimelineEvent>,
    /// The sequence of the last of them, to be given as `after` for the next page; what was asked
    /// for if there are none.
    pub last_sequence: u64,
    /// True if there are more by now.
    pub has_more: bool,
}
