//! Runs.

use awo_domain::api_key::Scope;

use super::{Route, Style, keyed, streaming};

/// `GET /v1/runs`
pub const LIST_RUNS: Route = keyed(
    "GET",
    "/v1/runs",
    Scope::RunsRead,
    Style::Plain,
    "list-runs",
);
/// `GET /v1/runs/{id}`
pub const GET_RUN: Route = keyed(
    "GET",
    "/v1/runs/{id}",
    Scope::RunsRead,
    Style::Plain,
    "get-run",
);
/// `POST /v1/runs/{id}/cancel`
pub const CANCEL_RUN: Route = keyed(
    "POST",
    "/v1/runs/{id}/cancel",
    Scope::RunsWrite,
    Style::Plain,
    "cancel-run",
);
/// `GET /v1/runs/{id}/events`
pub const LIST_RUN_EVENTS: Route = streaming(keyed(
    "GET",
    "/v1/runs/{id}/events",
    Scope::RunsRead,
    Style::Plain,
    "list-run-events",
));
/// `GET /v1/runs/{id}/logs`
pub const GET_RUN_LOGS: Route = keyed(
    "GET",
    "/v1/runs/{id}/logs",
    Scope::RunsRead,
    Style::Plain,
    "get-run-logs",
);
/// `GET /v1/runs/{id}/diff`
pub const GET_RUN_DIFF: Route = keyed(
    "GET",
    "/v1/runs/{id}/diff",
    Scope::RunsRead,
    Style::Plain,
    "get-run-diff",
);

/// The routes of this group.
pub(super) const ALL: &[Route] = &[
    LIST_RUNS,
    GET_RUN,
    CANCEL_RUN,
    LIST_RUN_EVENTS,
    GET_RUN_LOGS,
    GET_RUN_DIFF,
];
