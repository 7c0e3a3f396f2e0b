//! `DELETE /api/v1/verification/plugins/{id}`. Active runs retain the plugins they started with.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::plugin::PluginId;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `delete-plugin`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::DELETE_PLUGIN, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    call.query().finish()?;
    if PluginId::is_reserved(&call.plugin_id_text()) {
        return Err(Error::BuiltIn(Resource::Plugin));
    }
    store.delete_plugin(call.org(), &call.path_id()?).await?;
    Ok(Answer::no_content())
}
