//! `GET /api/v1/queue/position/{workOrderId}`: a work order's position in the dispatcher's order.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::queue::output::QueuePositionShape;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};

use crate::State;

/// The function `get-queue-position`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(
        cloud,
        &routes::GET_QUEUE_POSITION,
        State::new(cloud)?,
        handle,
    )
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let id = call
        .path_id()
        .map_err(|_| Error::NotFound(Resource::QueueEntry))?;
    call.query().finish()?;
    let position = state
        .store
        .queue_position(call.org(), &id, state.limits, call.now)
        .await?;
    Answer::ok(QueuePositionShape::of(&id, &position))
}
