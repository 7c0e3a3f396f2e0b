//! `GET /v1/credits`: the balance.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::credits::output::BalanceShape;
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-credits`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_CREDITS, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    call.query().finish()?;
    Answer::ok(BalanceShape::from(&store.balance(call.org()).await?))
}
