//! `GET /v1/schedules/{id}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::shown::shown;

/// The function `get-schedule`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_SCHEDULE, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let read = store.schedule(call.org(), &id).await?;
    let read = read.ok_or(Error::NotFound(Resource::Schedule))?;
    Answer::ok(shown(&read.schedule, call.now)?)
}
