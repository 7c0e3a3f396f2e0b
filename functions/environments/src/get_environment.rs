//! `GET /v1/environments/{name}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::environments::output::EnvironmentShape;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::inheritance::parent;

/// The function `get-environment`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_ENVIRONMENT, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let name = call.path_id()?;
    call.query().finish()?;
    let known = store.environment(call.org(), &name).await?;
    let known = known.ok_or(Error::NotFound(Resource::Environment))?;
    let environment = known.environment;
    let parent = parent(&store, call.org(), &environment.content).await?;
    Answer::ok(EnvironmentShape::of(&environment, parent.as_ref()))
}
