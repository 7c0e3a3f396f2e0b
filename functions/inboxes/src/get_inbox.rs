//! `GET /v1/inboxes/{id}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::inboxes::output::InboxShape;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-inbox`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_INBOX, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let read = store.inbox(call.org(), &id).await?;
    let read = read.ok_or(Error::NotFound(Resource::Inbox))?;
    Answer::ok(InboxShape::of(&read.inbox, call.now))
}
