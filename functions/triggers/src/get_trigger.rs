//! `GET /v1/triggers/{id}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::triggers::output::TriggerShape;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-trigger`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_TRIGGER, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let read = store.trigger(call.org(), &id).await?;
    let read = read.ok_or(Error::NotFound(Resource::Trigger))?;
    Answer::ok(TriggerShape::of(&read.trigger)?)
}
