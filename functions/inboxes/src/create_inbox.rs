//! `POST /v1/inboxes`: the only response that shows the first secret.

use std::sync::Arc;

use awo_cloud::{Cloud, Mint, SetupError};
use awo_contract::inboxes::input::NewInbox;
use awo_contract::inboxes::output::NewInboxShape;
use awo_domain::inbox::{Inbox, InboxSecrets};
use awo_domain::{Error, InboxId};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

struct State {
    store: Store,
    mint: Mint,
}

/// The function `create-inbox`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        mint: cloud.mint.clone(),
    };
    HttpFunction::keyed(cloud, &routes::CREATE_INBOX, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let (org, now) = (call.org(), call.now);
    let fields = call.object()?.read(&NewInbox)?;
    let is_standard = fields.content.kind.is_standard();
    let secret = fields
        .secret
        .unwrap_or_else(|| state.mint.inbox_secret(is_standard));
    let inbox = Inbox {
        id: InboxId::new(now, state.mint.random(now)),
        org_id: org.clone(),
        content: fields.content,
        secrets: InboxSecrets::new(secret),
        created_at: now,
        updated_at: None,
    };
    let url = format!("{}/v1/hooks/{}", call.base_url()?, inbox.id);
    let answer = Answer::created(NewInboxShape::of(&inbox, url))?;
    let response = call.response(idempotent.as_ref(), &answer);
    let created = state.store.create_inbox(&inbox, response.as_ref()).await?;
    let (key, id) = (&call.caller.key_id, &inbox.id);
    tracing::info!(event = "inbox_created", %org, %key, inbox = %id);
    Ok(answer.unless_replayed(created))
}
