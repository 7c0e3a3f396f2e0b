//! Routes of the queue.

pub mod get_queue_health;
pub mod get_queue_position;

use awo_cloud::{Cloud, SetupError, settings};
use awo_store::Store;
use awo_store::queue::tally::QueueLimits;

/// What both functions stand on.
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
