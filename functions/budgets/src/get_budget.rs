//! `GET /v1/budgets/{id}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::budgets::output::BudgetShape;
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-budget`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_BUDGET, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let budget = store.budget(call.org(), &id, call.now).await?;
    Answer::ok(BudgetShape::of(&budget, call.now))
}
