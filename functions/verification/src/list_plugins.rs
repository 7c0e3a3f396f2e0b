//! `GET /api/v1/verification/plugins`: the built-in ones by level, then the organization's own in
//! order of registration.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::verification::output::PluginsShape;
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `list-plugins`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_PLUGINS, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    call.query().finish()?;
    let plugins = store.plugins(call.org()).await?;
    Answer::ok(PluginsShape::from(plugins.as_slice()))
}
