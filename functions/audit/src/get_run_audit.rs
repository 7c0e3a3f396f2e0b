//! `GET /api/v1/audit/runs/{runId}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::audit::output::RunAuditShape;
use awo_domain::Error;
use awo_domain::audit::changes;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::audited;

/// The function `get-run-audit`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_RUN_AUDIT, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let (run, snapshots) = audited(&store, &call).await?;
    let changes = changes(&snapshots);
    Answer::ok(RunAuditShape::of(&run, &snapshots, &changes)?)
}
