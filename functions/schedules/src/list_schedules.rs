//! `GET /v1/schedules`: newest first. An organization has few enough to read all of them.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::schedules::output::ScheduleShape;
use awo_domain::Error;
use awo_domain::schedule::Schedule;
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use serde_json::json;

use crate::shown::shown;

/// The function `list-schedules`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_SCHEDULES, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, "");
    query.finish()?;
    let all = store.schedules(call.org()).await?;
    let shapes = all
        .iter()
        .map(|schedule| Ok((schedule, shown(schedule, call.now)?)));
    let all: Vec<(&Schedule, ScheduleShape<'_>)> = shapes.collect::<Result<_, Error>>()?;
    // Ids sort by creation.
    let place = |(schedule, _): &(&Schedule, ScheduleShape<'_>)| schedule.id.to_string();
    let body = paging.of_sorted("schedules", &all, place, |(_, shape)| json!(shape));
    Answer::ok(body)
}
