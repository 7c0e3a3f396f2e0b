//! `POST /v1/work-orders`: creates a work order, its first run and its queue entry, or nothing.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_execution::opening::{Opener, RequestBody};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::opening::open;

struct State {
    store: Store,
    opener: Opener,
}

/// The function `create-work-order`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        opener: Opener::new(cloud)?,
    };
    HttpFunction::keyed(cloud, &routes::CREATE_WORK_ORDER, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let body = call.object().map(|body| state.opener.read(body));
    let body = body.map(RequestBody::Create);
    open(
        &state.store,
        &state.opener,
        &call,
        idempotent.as_ref(),
        body,
    )
    .await
}
