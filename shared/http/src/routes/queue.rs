//! The queue.

use awo_domain::api_key::Scope;

use super::{Route, Style, keyed};

/// `GET /api/v1/queue/position/{workOrderId}`
pub const GET_QUEUE_POSITION: Route = keyed(
    "GET",
    "/api/v1/queue/position/{workOrderId}",
    Scope::WorkOrdersRead,
    Style::Envelope,
    "get-queue-position",
);
/// `GET /api/v1/queue/health`
pub const GET_QUEUE_HEALTH: Route = keyed(
    "GET",
    "/api/v1/queue/health",
    Scope::WorkOrdersRead,
    Style::Envelope,
    "get-queue-health",
);

/// The routes of this group.
pub(super) const ALL: &[Route] = &[GET_QUEUE_POSITION, GET_QUEUE_HEALTH];
