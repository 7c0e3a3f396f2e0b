//! `GET /api/v1/audit/runs/{runId}/snapshots`: each snapshot as it was hashed.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::audit::output::SnapshotsShape;
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::audited;

/// The function `list-config-snapshots`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(
        cloud,
        &routes::LIST_CONFIG_SNAPSHOTS,
        cloud.store()?,
        handle,
    )
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let (_, items) = audited(&store, &call).await?;
    let total = items.len();
    Answer::ok(SnapshotsShape { items, total })
}
