//! `GET /v1/budgets`: newest first. An organization has few enough to read all of them.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::budgets::output::BudgetShape;
use awo_domain::Error;
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::ledger::budgets::BudgetStanding;
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
    let place = |standing: &BudgetStanding| standing.budget.id.to_string();
    let shown = |standing: &BudgetStanding| json!(BudgetShape::of(standing, call.now));
    // Ids sort by creation.
    Answer::ok(paging.of_sorted("budgets", &all, place, shown))
}
