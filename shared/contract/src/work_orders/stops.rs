//! Cancels, kills and purges.

use awo_domain::WorkOrderId;
use awo_domain::stop::{DEFAULT_GRACE_MS, MAX_GRACE_MS};
use awo_domain::work_order::WorkOrderStatus;
use serde::Serialize;
use serde_json::{Value as Json, json};
use utoipa::ToSchema;

use crate::body::Value;
use crate::field::{Field, flag, list, one_of, typed, whole};
use crate::record::{Members, Record};
use crate::runs::input::reason;
use crate::schema::Schemas;

/// Largest age, in days: a hundred years.
const MAX_DAYS: f64 = 36_500.0;
const DAY_MS: f64 = 86_400_000.0;

/// The body of a kill.
#[derive(Debug)]
pub struct KillBody;

/// A kill, as it was read.
#[derive(Debug)]
pub struct KillRequest {
    /// Time between the terminate signal and the kill signal.
    pub grace_period_ms: u64,
    /// True to skip the grace period.
    pub immediate: bool,
    /// The client's words.
    pub reason: Option<String>,
}

impl Record for KillBody {
    type Output = KillRequest;

    fn members<M: Members>(&self, members: &mut M) -> Option<KillRequest> {
        let grace = whole(0..=MAX_GRACE_MS)
            .described("The time between the terminate signal and the kill signal.");
        let immediate = flag().described("Skips the grace period.");
        Some(KillRequest {
            grace_period_ms: members.defaulted("gracePeriodMs", grace, DEFAULT_GRACE_MS),
            immediate: members.defaulted("immediate", immediate, false),
            reason: members.optional("reason", reason()),
        })
    }
}

/// The body of a purge.
#[derive(Debug)]
pub struct PurgeBody;

/// A purge, as it was read.
#[derive(Debug)]
pub struct PurgeRequest {
    /// Statuses of the work orders.
    pub statuses: Option<Vec<WorkOrderStatus>>,
    /// Least age of the work orders, in milliseconds.
    pub age_ms: Option<i64>,
    /// True to count only.
    pub dry_run: bool,
}

impl Record for PurgeBody {
    type Output = PurgeRequest;

    fn members<M: Members>(&self, members: &mut M) -> Option<PurgeRequest> {
        let status = typed::<WorkOrderStatus, _, _>(|name| {
            one_of(name, WorkOrderStatus::ALL, WorkOrderStatus::as_str)
        });
        let statuses = list(status, 1..=WorkOrderStatus::ALL.len())
            .described("Only work orders of these statuses; the default is all.");
        let age = Days.described("Only work orders that were created at least this many days ago.");
        let dry_run = flag().described("Counts the matching work orders, and deletes nothing.");
        Some(PurgeRequest {
            statuses: members.optional("statuses", statuses),
            age_ms: members.optional("olderThanDays", age),
            dry_run: members.defaulted("dryRun", dry_run, false),
        })
    }
}

/// Days, which are read as milliseconds.
struct Days;

impl Field for Days {
    type Output = i64;

    #[expect(clippy::cast_possible_truncation, reason = "guarded")]
    fn read(&self, value: Value) -> Option<i64> {
        value.decimal(|days| {
            if (0.0..=MAX_DAYS).contains(&days) {
                Ok((days * DAY_MS).round() as i64)
            } else {
                Err(format!("must be from 0 to {MAX_DAYS}"))
            }
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "whole")]
    fn schema(&self, _: &mut Schemas) -> Json {
        json!({ "type": "number", "minimum": 0, "maximum": MAX_DAYS as u64 })
    }
}

/// A work order that was canceled.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CancelResult)]
pub struct CanceledShape<'a> {
    /// The work order.
    pub id: &'a WorkOrderId,
    /// Always `canceled`.
    pub status: WorkOrderStatus,
    /// For people.
    pub message: &'static str,
    /// True if it had compute that is being stopped.
    pub was_running: bool,
}

/// A work order whose agent was force-terminated.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = KillResult)]
pub struct KilledShape<'a> {
    /// The work order.
    pub id: &'a WorkOrderId,
    /// True if nothing of it is alive.
    pub success: bool,
    /// True if something had to be killed with SIGKILL.
    pub forced_kill: bool,
    /// From the request until the processes were dead; 0 if there were none.
    pub duration_ms: u64,
    /// The work order's status now.
    pub status: WorkOrderStatus,
    /// For people.
    pub message: String,
    /// Reason why the kill could not be confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
}

/// The outcome of a purge or of its dry run.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PurgeResult)]
pub struct PurgeShape {
    /// Number of work orders that this call deleted.
    deleted_count: usize,
    /// Ids of the deleted work orders.
    deleted_ids: Vec<WorkOrderId>,
    /// Number of work orders that match now; only in the answer to a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_delete: Option<u64>,
}

impl PurgeShape {
    /// Answer to a call that deleted `ids`.
    #[must_use]
    pub fn deleted(ids: Vec<WorkOrderId>) -> PurgeShape {
        PurgeShape {
            deleted_count: ids.len(),
            deleted_ids: ids,
            would_delete: None,
        }
    }

    /// So many would be deleted.
    #[must_use]
    pub fn dry(would_delete: u64) -> PurgeShape {
        PurgeShape {
            deleted_count: 0,
            deleted_ids: Vec::new(),
            would_delete: Some(would_delete),
        }
    }
}
