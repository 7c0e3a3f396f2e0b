//! Routes of the queue.

pub mod get_queue_health;
pub mod get_queue_position;

use awo_cloud::{Cloud, SetupError, settings};
use awo_http::program::{ApiProgram, whole};
use awo_http::routes;
use awo_store::Store;
use awo_store::queue::tally::QueueLimits;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::GET_QUEUE_HEALTH, get_queue_health::function),
    whole(&routes::GET_QUEUE_POSITION, get_queue_position::function),
];

/// The state of both functions.
struct State {
    store: Store,
    limits: QueueLimits,
}

impl State {
    fn new(cloud: &Cloud) -> Result<State, SetupError> {
        Ok(State {
            store: cloud.store()?,
            limits: settings::queue_limits(&cloud.environment)?,
        })
    }
}
