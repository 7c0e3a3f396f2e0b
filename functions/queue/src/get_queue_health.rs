//! `GET /api/v1/queue/health`: the queue's fill level. A full queue is 503, with the same data.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::queue::output::QueueHealthShape;
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};

use crate::State;

/// The function `get-queue-health`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_QUEUE_HEALTH, State::new(cloud)?, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    call.query().finish()?;
    let load = state.store.tally(call.org()).await?.load(state.limits);
    let status = if load.is_accepting() { 200 } else { 503 };
    Answer::with(status, QueueHealthShape::of(load, call.now))
}
