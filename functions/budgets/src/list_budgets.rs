//! `GET /v1/budgets`: newest first. An organization has few enough to read all of them.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::budgets::output::BudgetShape;
use awo_domain::Error;
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use serde_json::json;

/// The function `list-budgets`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_BUDGETS, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, "");
    query.finish()?;
    let all = store.budgets(call.org(), call.now).await?;
    let before = match &paging.after {
        // Ids sort by creation, so a cursor is good also when the budget that it names is gone.
        Some(cursor) => all
            .iter()
            .take_while(|of| of.budget.id.as_str() >= cursor.as_str())
            .count(),
        None => paging.offset as usize,
    };
    let page: Vec<_> = all
        .iter()
        .skip(before)
        .take(paging.limit as usize)
        .collect();
    let has_more = all.len() > before + page.len();
    let next = page
        .last()
        .filter(|_| has_more)
        .map(|of| of.budget.id.as_str());
    let items = page.iter().map(|of| json!(BudgetShape::of(of, call.now)));
    Answer::ok(paging.body("budgets", items.collect(), all.len() as u64, next))
}
