//! `GET /v1/schedules/{id}/firings`: newest first.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::schedules::output::FiringShape;
use awo_domain::{Error, Resource, ScheduleId, Timestamp};
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use serde_json::json;

/// The function `list-firings`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_FIRINGS, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id: ScheduleId = call.path_id()?;
    let query = call.query();
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, id.as_str());
    query.finish()?;
    let after = (paging.after.as_deref()).and_then(|time| Timestamp::parse(time).ok());
    let window = (paging.limit, paging.offset);
    let (schedule, (page, total)) = tokio::try_join!(
        store.schedule(call.org(), &id),
        store.firings(call.org(), &id, window, after, call.now)
    )?;
    schedule.ok_or(Error::NotFound(Resource::Schedule))?;
    let next = page.items.last().filter(|_| page.has_more);
    let next = next.map(|firing| firing.scheduled_for.to_string());
    let shown = page
        .items
        .iter()
        .map(|firing| json!(FiringShape::from(firing)));
    Answer::ok(paging.body("firings", shown.collect(), total, next.as_deref()))
}
