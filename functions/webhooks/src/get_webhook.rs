//! `GET /v1/webhooks/{id}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::webhooks::output::WebhookShape;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-webhook`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_WEBHOOK, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let webhook = store.webhook(call.org(), &id).await?;
    let webhook = webhook.ok_or(Error::NotFound(Resource::Webhook))?;
    Answer::ok(WebhookShape::of(&webhook, call.now))
}
