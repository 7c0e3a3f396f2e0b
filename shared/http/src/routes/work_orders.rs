//! Work orders.

use awo_domain::api_key::Scope;

use super::{Route, Style, creating, keyed, streaming};

/// `POST /v1/work-orders`
pub const CREATE_WORK_ORDER: Route = creating(
    keyed(
        "POST",
        "/v1/work-orders",
        Scope::WorkOrdersWrite,
        Style::Plain,
        "create-work-order",
    ),
    "/v1/work-orders",
    "/id",
);
/// `GET /v1/work-orders`
pub const LIST_WORK_ORDERS: Route = keyed(
    "GET",
    "/v1/work-orders",
    Scope::WorkOrdersRead,
    Style::Plain,
    "list-work-orders",
);
/// `GET /v1/work-orders/{id}`
pub const GET_WORK_ORDER: Route = keyed(
    "GET",
    "/v1/work-orders/{id}",
    Scope::WorkOrdersRead,
    Style::Plain,
    "get-work-order",
);
/// `DELETE /api/v1/work-orders/{id}`
pub const CANCEL_WORK_ORDER: Route = keyed(
    "DELETE",
    "/api/v1/work-orders/{id}",
    Scope::WorkOrdersWrite,
    Style::Envelope,
    "cancel-work-order",
);
/// `POST /api/v1/work-orders/{id}/kill`
pub const KILL_WORK_ORDER: Route = streaming(keyed(
    "POST",
    "/api/v1/work-orders/{id}/kill",
    Scope::RunsWrite,
    Style::Envelope,
    "kill-work-order",
));
/// `POST /api/v1/work-orders/purge`
pub const PURGE_WORK_ORDERS: Route = streaming(keyed(
    "POST",
    "/api/v1/work-orders/purge",
    Scope::All,
    Style::Envelope,
    "purge-work-orders",
));
/// `POST /api/v1/work-orders/{id}/runs`
pub const START_RUN: Route = creating(
    keyed(
        "POST",
        "/api/v1/work-orders/{id}/runs",
        Scope::RunsWrite,
        Style::Envelope,
        "start-run",
    ),
    "/v1/runs",
    "/runId",
);

/// The routes of this group.
pub(super) const ALL: &[Route] = &[
    CREATE_WORK_ORDER,
    LIST_WORK_ORDERS,
    GET_WORK_ORDER,
    CANCEL_WORK_ORDER,
    KILL_WORK_ORDER,
    PURGE_WORK_ORDERS,
    START_RUN,
];
