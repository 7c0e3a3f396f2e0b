//! Runs: their items and how they are read and listed.

pub mod audit;
pub mod baselines;
pub mod details;
pub mod diffs;
pub mod lifecycle;
pub mod logs;
pub mod timeline;
pub mod verifications;
pub mod verified_run;

use awo_domain::audit::AuditHead;
use awo_domain::control::{GateComparison, PROVIDER_WAIT_MS, RunnerEvent, TurnEnd};
use awo_domain::cost::Attribution;
use awo_domain::environment::{EnvironmentRecord, Size};
use awo_domain::pull_request::PullRequestUrl;
use awo_domain::run::{Phase, RunError, RunStatus};
use awo_domain::run_report::{ReportKind, RunReport};
use awo_domain::stop::Stop;
use awo_domain::usage::PricedUsage;
use awo_domain::verification::{BaselineComparison, VerificationOutcome};
use awo_domain::work_order::TenantContext;
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::item::{Item, SCHEMA_VERSION, runs_of, runs_with};
use crate::engine::item_kind::Table;
use crate::engine::key::{Key, runs};
use crate::engine::list::{Page, Slice};
use crate::engine::schema::{BY_PARENT, BY_STATUS};
use crate::runs::timeline::Subject;
use crate::usage::Earlier;

/// How much of a run's compute can be free because it waited for providers: what runners wait, and
/// a minute for reports that came late.
const MAX_WAIT_MS: i64 = PROVIDER_WAIT_MS.cast_signed() + 60_000;
/// The sequence of a queued run's only event.
pub(crate) const CREATED_SEQUENCE: u64 = 1;

/// The cost of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Taken from the balance.
    pub credits_micro: i64,
    /// The priced part of the models' cost.
    pub usd_nano: i64,
}

/// A run as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Its id.
    pub run_id: RunId,
    /// Its work order.
    pub work_order_id: WorkOrderId,
    /// Its status.
    pub status: RunStatus,
    /// What it is busy with, while it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Iterations begun.
    pub iteration: u32,
    /// Iterations that it may have.
    pub max_iterations: u32,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it got its slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it became terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// When its compute was known to be gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_stopped_at: Option<Timestamp>,
    /// When its hold was resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
    /// SHA-256 of the token of the runner by whose last report its slot was given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_by: Option<String>,
    /// A client's request to stop it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The result branch on the origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Where its pull request is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr_url: Option<PullRequestUrl>,
    /// The last commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// True if its last verification passed, and tests are known to have run and passed.
    #[serde(default)]
    pub verified: bool,
    /// Outcome of its last verification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationOutcome>,
    /// Test files of its base that it changed or removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests_changed: Vec<String>,
    /// Comparison of the verified commit with the base of its gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateComparison>,
    /// Comparison of the last verification with the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineComparison>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// Its usage so far, by model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<PricedUsage>,
    /// Its cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Absolute path of its workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_dir: Option<String>,
    /// The client's customer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_context: Option<TenantContext>,
    /// Its hold, in micro-credits.
    pub hold_micro: i64,
    /// When that was reserved, if not when the run was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_at: Option<Timestamp>,
    /// True while nothing is reserved for it, because a budget does not cover it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_budget: bool,
    /// The sequence of its newest event.
    pub last_sequence: u64,
    /// What is known of its configuration snapshots, from its claim on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditHead>,
    /// When its work order's runs before it were completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
    /// The commit that it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// How it left its compute to wait for its children, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
    /// The version of the price list that its models are priced by, from its claim on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_list: Option<String>,
    /// When it got compute again after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<Timestamp>,
    /// The dimensions of its cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
    /// The size of its task, by which compute is priced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// How long it has waited for providers, in milliseconds.
    #[serde(default)]
    pub waited_ms: i64,
    /// Since when it waits for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_since: Option<Timestamp>,
    /// Its environment as it was when the run was claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentRecord>,
    /// The kinds of its reports to the forge, from the start of its last iteration on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report_kinds: Vec<ReportKind>,
    /// The check at the forge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_report: Option<RunReport>,
    /// Number of attempts of the trigger whose limit was reached after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_ended: Option<u32>,
    /// The comment at the forge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment_report: Option<RunReport>,
    /// The end of its turn, for the next one of the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_end: Option<TurnEnd>,
}

/// A run's leave from its compute. A run takes it once at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Suspension {
    /// When it left.
    pub at: Timestamp,
    /// How long it had had compute by then, in milliseconds.
    pub compute_ms: i64,
    /// How long it had waited for providers by then.
    #[serde(default)]
    pub waited_ms: i64,
    /// Its agent's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

impl Run {
    /// The reports to the forge.
    #[must_use]
    pub fn reports(&self) -> Vec<&RunReport> {
        let reports = self.check_report.iter().chain(&self.comment_report);
        reports.collect()
    }

    /// How long it has had compute, in milliseconds: from its slot to its end, or to `now`, without
    /// the time in which it waited for its children or for a provider.
    #[must_use]
    pub fn compute_ms(&self, now: Timestamp) -> i64 {
        self.compute_ms_until(self.completed_at.unwrap_or(now))
    }

    /// As [`Run::compute_ms`], to a moment that is not after its end.
    #[must_use]
    pub fn compute_ms_until(&self, end: Timestamp) -> i64 {
        let since = |began: Option<Timestamp>| began.map_or(0, |at| end.ms_since(at).max(0));
        let waited = self.waited_until(end);
        match &self.suspension {
            None => since(self.started_at).saturating_sub(waited).max(0),
            Some(left) => {
                let waited = waited.saturating_sub(left.waited_ms);
                let here = since(self.resumed_at).saturating_sub(waited).max(0);
                left.compute_ms.saturating_add(here)
            }
        }
    }

    /// How long it has waited for providers, in milliseconds, a wait that is not over included.
    fn waited_until(&self, end: Timestamp) -> i64 {
        let now = (self.waits_since).map_or(0, |since| end.ms_since(since).max(0));
        self.waited_ms.saturating_add(now).min(MAX_WAIT_MS)
    }

    /// How long it has waited for providers so far, in milliseconds.
    #[must_use]
    pub fn provider_waited_ms(&self) -> u64 {
        u64::try_from(self.waited_ms).unwrap_or(0)
    }

    /// A wait for a provider begins or ends, by the runner's clock.
    pub(crate) fn waits(&mut self, event: &RunnerEvent, at: Timestamp) {
        match event {
            RunnerEvent::ProviderWaiting { .. } => {
                self.waits_since.get_or_insert(at);
            }
            RunnerEvent::ProviderResumed { .. } => {
                self.waited_ms = self.waited_until(at);
                self.waits_since = None;
            }
            _ => {}
        }
    }

    /// How long it had had compute when it left it, in milliseconds; 0 if it never did.
    #[must_use]
    pub fn earlier_compute_ms(&self) -> u64 {
        let left = self.suspension.as_ref().map_or(0, |left| left.compute_ms);
        u64::try_from(left).unwrap_or(0)
    }

    /// True while it has left its compute and is not over.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        !self.status.is_terminal() && self.suspension.is_some() && self.resumed_at.is_none()
    }

    pub(crate) fn subject<'a>(&'a self, org: &'a OrgId) -> Subject<'a> {
        Subject {
            org,
            run_id: &self.run_id,
            work_order_id: &self.work_order_id,
            tenant_context: self.tenant_context.as_ref(),
        }
    }
}

/// A run with the attributes that only the table needs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunItem<'a> {
    #[serde(flatten)]
    run: &'a Run,
    status_key: String,
    parent_key: String,
    v: u32,
}

impl RunItem<'_> {
    pub fn of<'a>(org: &OrgId, run: &'a Run) -> RunItem<'a> {
        RunItem {
            run,
            status_key: runs_with(org, run.status),
            parent_key: runs_of(org, &run.work_order_id),
            v: SCHEMA_VERSION,
        }
    }
}

/// Which runs to list.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Of one work order.
    pub work_order_id: Option<WorkOrderId>,
    /// Of one status.
    pub status: Option<RunStatus>,
    /// Of one tenant.
    pub tenant_id: Option<String>,
}

impl Store {
    /// A run of this organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn run(&self, org: &OrgId, id: &RunId) -> Result<Option<Run>, Error> {
        self.get(&Key::run(org, id)).await
    }

    /// Runs, newest first, and how many there are in all.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn runs(
        &self,
        org: &OrgId,
        filter: &RunFilter,
        (limit, skip): (u32, u32),
        after: Option<&RunId>,
    ) -> Result<(Page<Run>, u64), Error> {
        let (slice, start) = match (&filter.work_order_id, filter.status) {
            (Some(id), status) => (
                Slice::of_index(Table::Work, BY_PARENT, "parentKey", runs_of(org, id))
                    .filter("status", status.map(|s| s.as_str().to_owned())),
                after.map(|run| start_after(org, run, Some(("parentKey", runs_of(org, id))))),
            ),
            (None, Some(status)) => (
                Slice::of_index(Table::Work, BY_STATUS, "statusKey", runs_with(org, status)),
                after.map(|run| start_after(org, run, Some(("statusKey", runs_with(org, status))))),
            ),
            (None, None) => (
                Slice::of_partition(runs(org)),
                after.map(|run| start_after(org, run, None)),
            ),
        };
        let slice = slice
            .newest_first()
            .filter("tenantContext.tenantId", filter.tenant_id.clone());
        let by_tally = filter.work_order_id.is_none() && filter.tenant_id.is_none();
        let whole = slice.clone();
        let total = async {
            if by_tally {
                self.tally(org).await.map(|t| t.runs(filter.status))
            } else {
                self.count(&whole).await
            }
        };
        tokio::try_join!(
            self.slice(slice.clone().limit(limit).skip(skip).after(start)),
            total
        )
    }
}

fn start_after(org: &OrgId, id: &RunId, index: Option<(&str, String)>) -> Item {
    let mut key = Key::run(org, id).to_item();
    if let Some((name, partition)) = index {
        key.insert(name.to_owned(), crate::engine::change::value(partition));
    }
    key
}
