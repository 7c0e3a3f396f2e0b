//! `DELETE /v1/triggers/{id}`: its work orders stay.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `delete-trigger`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::DELETE_TRIGGER, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    store.delete_trigger(call.org(), &id).await?;
    tracing::info!(event = "trigger_deleted", org = %call.org(), key = %call.caller.key_id, trigger = %id);
    Ok(Answer::no_content())
}
