//! `PATCH /v1/inboxes/{id}`: the given fields replace the stored ones.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::inboxes::input::{InboxUpdate, secret_faults};
use awo_contract::inboxes::output::InboxShape;
use awo_domain::inbox::Inbox;
use awo_domain::{Error, InboxId, Resource};
use awo_http::retry::until_unchanged;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `update-inbox`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::UPDATE_INBOX, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let answer = until_unchanged(Resource::Inbox, || update(&store, &call, &id)).await?;
    tracing::info!(event = "inbox_changed", org = %call.org(), key = %call.caller.key_id, inbox = %id);
    Ok(answer)
}

async fn update(store: &Store, call: &Call, id: &InboxId) -> Result<Option<Answer>, Error> {
    let read = store.inbox(call.org(), id).await?;
    let read = read.ok_or(Error::NotFound(Resource::Inbox))?;
    let old = read.inbox.clone();
    let content = (call.object()?.read(&InboxUpdate)?).applied_to(old.content.clone());
    let secret = secret_faults(&content, Some(&old.secrets.current));
    Error::if_any(content.faults().into_iter().chain(secret).collect())?;
    let new = Inbox {
        content,
        updated_at: Some(call.now),
        ..old
    };
    let replaced = store.replace_inbox(&read, &new, None, call.now).await?;
    if replaced.is_none() {
        return Ok(None);
    }
    Answer::ok(InboxShape::of(&new, call.now)).map(Some)
}
