//! `GET /v1/credits/usage`: the ledger's entries, newest first, by period, type and tenant.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::credits::output::TransactionShape;
use awo_domain::ledger::TransactionType;
use awo_domain::{Error, TransactionId};
use awo_http::page::Paging;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::ledger::credits::EntryFilter;
use serde_json::json;

const TYPES: &str = "must be one of deduction, purchase, refund";
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
    let filter = EntryFilter {
        span: query.span(),
        kind: query.parsed("type", TYPES, TransactionType::parse),
        tenant_id: query.text("tenantId"),
        tenant_user_id: query.text("tenantUserId"),
    };
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, &format!("{filter:?}"));
    query.finish()?;
    let after = paging.after.as_deref();
    let after = after.and_then(|id| TransactionId::parse(id).ok());
    let window = (paging.limit, paging.offset);
    let entries = store.ledger_entries(call.org(), &filter, window, after.as_ref());
    let (page, total) = entries.await?;
    let last = page.items.last().filter(|_| page.has_more);
    let next = last.map(|entry| entry.id.as_str());
    let items = page.items.iter().map(|e| json!(TransactionShape::from(e)));
    Answer::ok(paging.body("transactions", items.collect(), total, next))
}
