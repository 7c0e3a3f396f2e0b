//! Operations of the audit.

use awo_domain::api_key::Scope;
use awo_domain::{RunId, WorkOrderId};

use crate::audit::output::{
    ConfigChangesShape, RunAuditShape, RunAuditSummaryShape, SnapshotsShape, WorkOrderAuditShape,
};
use crate::operation::{Operation, Success};
use crate::routes::{Route, keyed};
use crate::schema::Schemas;

const fn audit(path: &'static str, function: &'static str) -> Route {
    keyed("GET", path, Scope::RunsRead, function)
}

/// `GET /api/v1/work-orders/{id}/audit`
pub const GET_WORK_ORDER_AUDIT: Route =
    audit("/api/v1/work-orders/{id}/audit", "get-work-order-audit");
/// `GET /api/v1/audit/runs/{runId}`
pub const GET_RUN_AUDIT: Route = audit("/api/v1/audit/runs/{runId}", "get-run-audit");
/// `GET /api/v1/audit/runs/{runId}/changes`
pub const LIST_CONFIG_CHANGES: Route =
    audit("/api/v1/audit/runs/{runId}/changes", "list-config-changes");
/// `GET /api/v1/audit/runs/{runId}/snapshots`
pub const LIST_CONFIG_SNAPSHOTS: Route = audit(
    "/api/v1/audit/runs/{runId}/snapshots",
    "list-config-snapshots",
);
/// `GET /api/v1/audit/runs/{runId}/summary`
pub const GET_RUN_AUDIT_SUMMARY: Route = audit(
    "/api/v1/audit/runs/{runId}/summary",
    "get-run-audit-summary",
);

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    GET_WORK_ORDER_AUDIT,
    GET_RUN_AUDIT,
    LIST_CONFIG_CHANGES,
    LIST_CONFIG_SNAPSHOTS,
    GET_RUN_AUDIT_SUMMARY,
];

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let order = Operation::of(
        &GET_WORK_ORDER_AUDIT,
        "Audit a work order",
        "Its newest 100 runs, newest first, each with the hash of its last configuration.",
    )
    .path::<WorkOrderId>();
    let run = Operation::of(
        &GET_RUN_AUDIT,
        "Audit a run",
        "Its configuration from its start to its end, and the stop by a client. A run that no runner has \
         claimed has no configuration: those fields are absent.",
    ).path::<RunId>();
    let changes = Operation::of(
        &LIST_CONFIG_CHANGES,
        "List a run's configuration changes",
        "The changes during the run, by dotted path. A value that was or is absent is null.",
    )
    .path::<RunId>();
    let snapshots = Operation::of(
        &LIST_CONFIG_SNAPSHOTS,
        "List a run's configuration snapshots",
        "A hash chain: `previousHash` is the hex SHA-256 of the RFC 8785 form of the whole previous item.",
    ).path::<RunId>();
    let summary = Operation::of(
        &GET_RUN_AUDIT_SUMMARY,
        "Sum up a run's audit",
        "The number and paths of its changes, and the head of its hash chain.",
    )
    .path::<RunId>();
    vec![
        order.answers(Success::of::<WorkOrderAuditShape>(
            schemas,
            200,
            "Its runs.",
        )),
        run.answers(Success::of::<RunAuditShape>(schemas, 200, "The audit.")),
        changes.answers(Success::of::<ConfigChangesShape>(
            schemas,
            200,
            "The changes.",
        )),
        snapshots.answers(Success::of::<SnapshotsShape>(schemas, 200, "The chain.")),
        summary.answers(Success::of::<RunAuditSummaryShape>(
            schemas,
            200,
            "The summary.",
        )),
    ]
}
