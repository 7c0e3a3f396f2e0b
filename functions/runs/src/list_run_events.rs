//! `GET /v1/runs/{id}/events`: the timeline of a run, after a sequence.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::{Error, Resource};
use awo_http::page::MAX_LIMIT;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use serde_json::json;

/// The function `list-run-events`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_RUN_EVENTS, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.run_id()?;
    let query = call.query();
    let after = query.whole("after", 0..=u32::MAX, 0);
    let limit = query.whole("limit", 1..=MAX_LIMIT, MAX_LIMIT);
    query.finish()?;
    let events = store.events(call.org(), &id, u64::from(after), limit);
    let (run, page) = tokio::try_join!(store.run(call.org(), &id), events)?;
    run.ok_or(Error::NotFound(Resource::Run))?;
    let last_sequence = page
        .items
        .last()
        .map_or(u64::from(after), |event| event.sequence);
    Answer::ok(
        json!({ "events": page.items, "lastSequence": last_sequence, "hasMore": page.has_more }),
    )
}
