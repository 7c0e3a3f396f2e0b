//! The audit of runs.

use awo_domain::api_key::Scope;

use super::{Route, Style, keyed};

const fn audit(path: &'static str, function: &'static str) -> Route {
    keyed("GET", path, Scope::RunsRead, Style::Envelope, function)
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
pub(super) const ALL: &[Route] = &[
    GET_WORK_ORDER_AUDIT,
    GET_RUN_AUDIT,
    LIST_CONFIG_CHANGES,
    LIST_CONFIG_SNAPSHOTS,
    GET_RUN_AUDIT_SUMMARY,
];
