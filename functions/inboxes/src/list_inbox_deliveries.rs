//! `GET /v1/inboxes/{id}/deliveries`: newest first.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::inboxes::output::InboxDeliveryShape;
use awo_domain::inbox::delivery::InboxOutcome;
use awo_domain::{Error, InboxDeliveryId, InboxId, Resource};
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::inboxes::deliveries::DeliveryWindow;
use serde_json::json;

/// The function `list-inbox-deliveries`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(
        cloud,
        &routes::LIST_INBOX_DELIVERIES,
        cloud.store()?,
        handle,
    )
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id: InboxId = call.path_id()?;
    let query = call.query();
    let outcomes = InboxOutcome::ALL.map(InboxOutcome::as_str).join(", ");
    let must = format!("must be one of {outcomes}");
    let outcome = query.parsed("outcome", &must, InboxOutcome::parse);
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, &format!("{id} {outcome:?}"));
    query.finish()?;
    let after = (paging.after.as_deref()).and_then(|id| InboxDeliveryId::parse(id).ok());
    let window = DeliveryWindow {
        outcome,
        limit: paging.limit,
        skip: paging.offset,
        after: after.as_ref(),
        now: call.now,
    };
    let (inbox, (page, total)) = tokio::try_join!(
        store.inbox(call.org(), &id),
        store.inbox_deliveries(call.org(), &id, window)
    )?;
    inbox.ok_or(Error::NotFound(Resource::Inbox))?;
    let next = page.items.last().filter(|_| page.has_more);
    let next = next.map(|delivery| delivery.id.as_str());
    let shown = (page.items.iter()).map(|delivery| json!(InboxDeliveryShape::from(delivery)));
    Answer::ok(paging.body("deliveries", shown.collect(), total, next))
}
