//! `GET /api/v1/audit/runs/{runId}/changes`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::audit::output::ConfigChangesShape;
use awo_domain::Error;
use awo_domain::audit::changes;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::audited;

/// The function `list-config-changes`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_CONFIG_CHANGES, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let (_, snapshots) = audited(&store, &call).await?;
    Answer::ok(ConfigChangesShape::from(changes(&snapshots).as_slice()))
}
