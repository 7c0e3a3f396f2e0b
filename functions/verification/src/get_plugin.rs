//! `GET /api/v1/verification/plugins/{id}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::verification::output::PluginShape;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-plugin`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_PLUGIN, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let plugin = store
        .plugin(call.org(), &id)
        .await?
        .ok_or(Error::NotFound(Resource::Plugin))?;
    Answer::ok(PluginShape::from(&plugin))
}
