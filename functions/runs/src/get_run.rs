//! `GET /v1/runs/{id}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::runs::output::RunShape;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-run`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_RUN, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let run = store
        .run(call.org(), &id)
        .await?
        .ok_or(Error::NotFound(Resource::Run))?;
    Answer::ok(RunShape::from(&run))
}
