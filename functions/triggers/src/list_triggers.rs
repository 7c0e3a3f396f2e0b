//! `GET /v1/triggers`: newest first. An organization has few enough to read all of them.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::triggers::output::TriggerShape;
use awo_domain::Error;
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use serde_json::json;

/// The function `list-triggers`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_TRIGGERS, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, "");
    query.finish()?;
    let all = store.triggers(call.org()).await?;
    let shapes = all.iter().map(|read| {
        let trigger = &read.trigger;
        Ok((trigger.id.to_string(), TriggerShape::of(trigger)?))
    });
    let shapes: Vec<(String, TriggerShape<'_>)> = shapes.collect::<Result<_, Error>>()?;
    // Ids sort by creation.
    let place = |(id, _): &(String, TriggerShape<'_>)| id.clone();
    Answer::ok(paging.of_sorted("triggers", &shapes, place, |(_, shape)| json!(shape)))
}
