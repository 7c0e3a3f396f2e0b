//! `POST /api/v1/verification/plugins/{id}/enable`: takes effect for runs and verifications that
//! start afterwards.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::verification::output::SwitchShape;
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `enable-plugin`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::ENABLE_PLUGIN, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    call.object_or_nothing()?.finish(Some(()))?;
    store.switch_plugin(call.org(), &id, true).await?;
    Answer::ok(SwitchShape { enabled: true })
}
