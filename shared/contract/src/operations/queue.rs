//! Operations of the queue.

use awo_domain::WorkOrderId;
use awo_domain::api_key::Scope;

use crate::operation::{Operation, Success};
use crate::queue::output::{QueueHealthShape, QueuePositionShape};
use crate::routes::{Route, keyed};
use crate::schema::Schemas;

/// `GET /api/v1/queue/position/{workOrderId}`
pub const GET_QUEUE_POSITION: Route = keyed(
    "GET",
    "/api/v1/queue/position/{workOrderId}",
    Scope::WorkOrdersRead,
    "get-queue-position",
);
/// `GET /api/v1/queue/health`
pub const GET_QUEUE_HEALTH: Route = keyed(
    "GET",
    "/api/v1/queue/health",
    Scope::WorkOrdersRead,
    "get-queue-health",
);

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[GET_QUEUE_POSITION, GET_QUEUE_HEALTH];

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let position = Operation::of(
        &GET_QUEUE_POSITION,
        "Get a work order's position in the queue",
        "Positions count in the order of dispatch. A work order that is not in the queue is 404.",
    )
    .path::<WorkOrderId>();
    let health = Operation::of(
        &GET_QUEUE_HEALTH,
        "Get the queue's health",
        "A full queue is `unhealthy`, and the same data has status 503.",
    );
    vec![
        position.answers(Success::of::<QueuePositionShape>(
            schemas,
            200,
            "Its place.",
        )),
        health
            .answers(Success::of::<QueueHealthShape>(
                schemas,
                200,
                "Healthy or degraded.",
            ))
            .answers(Success::of::<QueueHealthShape>(
                schemas,
                503,
                "Unhealthy: the queue is full.",
            )),
    ]
}
