//! The result of stopping a work order, as the API shows it.

use awo_domain::WorkOrderId;
use awo_domain::work_order::WorkOrderStatus;
use serde::Serialize;
use utoipa::ToSchema;

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
    /// Whether it had compute that is being stopped.
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
    /// Why the kill could not be confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
}
