//! Operations of the queue.

use awo_contract::queue::output::{QueueHealthShape, QueuePositionShape};
use awo_http::routes;

use crate::document::operation::{Operation, Success};
use awo_contract::schema::Schemas;

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let position = Operation::of(
        &routes::GET_QUEUE_POSITION,
        "Get a work order's position in the queue",
        "Positions count in the order of dispatch. A work order that is not in the queue is 404.",
    );
    let health = Operation::of(
        &routes::GET_QUEUE_HEALTH,
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
