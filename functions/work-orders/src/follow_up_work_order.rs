//! `POST /v1/work-orders/{id}/follow-ups`: creates the next turn of a work order's thread, or nothing.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_execution::opening::{Opener, RequestBody};
use awo_execution::request::FollowUpRequest;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::opening::open;

struct State {
    store: Store,
    opener: Opener,
}

/// The function `follow-up-work-order`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        opener: Opener::new(cloud)?,
    };
    HttpFunction::keyed(cloud, &routes::FOLLOW_UP_WORK_ORDER, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let turn = call.path_id()?;
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let body = call.object().map(FollowUpRequest::read);
    let body = body.map(|body| RequestBody::FollowUp { turn, body });
    open(
        &state.store,
        &state.opener,
        &call,
        idempotent.as_ref(),
        body,
    )
    .await
}
