//! `GET /v1/runs/{id}/diff`: the run's changes up to its newest commit.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::runs::diff::DiffShape;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-run-diff`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_RUN_DIFF, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let diff = store.diff(call.org(), &id, call.now);
    let (run, diff) = tokio::try_join!(store.run(call.org(), &id), diff)?;
    run.ok_or(Error::NotFound(Resource::Run))?;
    Answer::ok(DiffShape::of(&id, diff.as_ref()))
}
