//! `POST /api/v1/verification/plugins`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::verification::input::NewPlugin;
use awo_contract::verification::output::PluginShape;
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::settings::plugins::taken_plugin_id;

/// The function `register-plugin`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::REGISTER_PLUGIN, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let plugin = call.object()?.read(&NewPlugin { now: call.now })?;
    if plugin.is_built_in() {
        return Err(taken_plugin_id(&plugin.id));
    }
    let answer = Answer::created(PluginShape::from(&plugin))?;
    let response = call.response(idempotent.as_ref(), &answer);
    let registered = store.register_plugin(call.org(), &plugin, response.as_ref());
    Ok(answer.unless_replayed(registered.await?))
}
