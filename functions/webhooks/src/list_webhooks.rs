//! `GET /v1/webhooks`: newest first.
//!
//! An organization has few enough to read all of them, so the list needs no index, and a cursor
//! stays valid when its webhook is deleted.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::webhooks::output::WebhookShape;
use awo_domain::Error;
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::webhooks::Webhook;
use serde_json::json;

/// The function `list-webhooks`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_WEBHOOKS, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, "");
    query.finish()?;
    let all = store.webhooks(call.org()).await?;
    let place = |webhook: &Webhook| webhook.id.to_string();
    let shown = |webhook: &Webhook| json!(WebhookShape::of(webhook, call.now));
    // Ids sort by creation.
    Answer::ok(paging.of_sorted("webhooks", &all, place, shown))
}
