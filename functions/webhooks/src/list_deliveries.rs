//! `GET /v1/webhooks/{id}/deliveries`: newest first.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::webhooks::output::DeliveryShape;
use awo_domain::webhook::DeliveryStatus;
use awo_domain::{DeliveryId, Error, Resource, WebhookId};
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use serde_json::json;

/// The function `list-deliveries`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_DELIVERIES, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id: WebhookId = call.path_id()?;
    let query = call.query();
    let statuses = DeliveryStatus::ALL.map(DeliveryStatus::as_str).join(", ");
    let must = format!("must be one of {statuses}");
    let status = query.parsed("status", &must, DeliveryStatus::parse);
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, &format!("{id} {status:?}"));
    query.finish()?;
    let after = paging
        .after
        .as_deref()
        .and_then(|id| DeliveryId::parse(id).ok());
    let window = (paging.limit, paging.offset);
    let (webhook, (page, total)) = tokio::try_join!(
        store.webhook(call.org(), &id),
        store.deliveries(call.org(), &id, status, window, after.as_ref())
    )?;
    webhook.ok_or(Error::NotFound(Resource::Webhook))?;
    let next = page.items.last().filter(|_| page.has_more);
    let next = next.map(|delivery| delivery.id.as_str());
    let shown = page.items.iter().map(|d| json!(DeliveryShape::from(d)));
    Answer::ok(paging.body("deliveries", shown.collect(), total, next))
}
