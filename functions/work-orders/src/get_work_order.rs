//! `GET /v1/work-orders/{id}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::work_orders::output::WorkOrderShape;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-work-order`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_WORK_ORDER, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let order = store
        .work_order(call.org(), &id)
        .await?
        .ok_or(Error::NotFound(Resource::WorkOrder))?;
    let pull_request = async {
        match order.pull_request() {
            Some(pull) => store.pull_request(call.org(), &pull).await,
            None => Ok(None),
        }
    };
    let (prompt, pull_request) = tokio::try_join!(store.prompt(call.org(), &order), pull_request)?;
    let prompt = prompt.ok_or(Error::NotFound(Resource::WorkOrder))?;
    Answer::ok(WorkOrderShape::of(&order, &prompt, pull_request.as_ref()))
}
