//! `GET /v1/inboxes`: newest first. An organization has few enough to read all of them.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::inboxes::output::InboxShape;
use awo_domain::Error;
use awo_domain::inbox::Inbox;
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use serde_json::json;

/// The function `list-inboxes`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_INBOXES, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, "");
    query.finish()?;
    let all = store.inboxes(call.org()).await?;
    // Ids sort by creation.
    let place = |inbox: &Inbox| inbox.id.to_string();
    let shown = |inbox: &Inbox| json!(InboxShape::of(inbox, call.now));
    Answer::ok(paging.of_sorted("inboxes", &all, place, shown))
}
