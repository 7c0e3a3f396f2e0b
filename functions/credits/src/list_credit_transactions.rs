//! `GET /v1/credits/usage`: the ledger's entries, newest first.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::{Error, TransactionId};
use awo_http::page::Paging;
use awo_http::shapes::TransactionShape;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use serde_json::json;

/// Page size where none is asked for.
const DEFAULT_LIMIT: u32 = 50;

/// The function `list-credit-transactions`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(
        cloud,
        &routes::LIST_CREDIT_TRANSACTIONS,
        cloud.store()?,
        handle,
    )
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, "");
    query.finish()?;
    let after = paging
        .after
        .as_deref()
        .and_then(|id| TransactionId::parse(id).ok());
    let entries = store.ledger_entries(call.org(), paging.limit, paging.offset, after.as_ref());
    let (page, balance) = tokio::try_join!(entries, store.balance(call.org()))?;
    let next = page
        .items
        .last()
        .filter(|_| page.has_more)
        .map(|entry| entry.id.as_str());
    let items = page
        .items
        .iter()
        .map(|entry| json!(TransactionShape::from(entry)))
        .collect();
    Answer::ok(paging.body("transactions", items, balance.entries, next))
}
