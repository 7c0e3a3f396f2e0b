//! `DELETE /v1/webhooks/{id}`. Its pending deliveries are not sent; its deliveries become
//! unreadable, and are deleted after 30 days.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `delete-webhook`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::DELETE_WEBHOOK, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    store.delete_webhook(call.org(), &id).await?;
    Ok(Answer::no_content())
}
