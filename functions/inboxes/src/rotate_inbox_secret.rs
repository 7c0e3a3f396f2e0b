//! `POST /v1/inboxes/{id}/rotate-secret`: a new secret, which only this response shows. The previous one is
//! accepted for 24 h, too; an older one no longer is.

use std::sync::Arc;

use awo_cloud::{Cloud, Mint, SetupError};
use awo_contract::inboxes::input::{SecretRotation, secret_faults};
use awo_contract::inboxes::output::InboxSecretShape;
use awo_domain::inbox::{Inbox, InboxSecret};
use awo_domain::{Error, InboxId, Resource};
use awo_http::retry::until_unchanged;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::engine::idempotency::IdempotentRequest;

struct State {
    store: Store,
    mint: Mint,
}

/// A rotation as it was requested.
struct Rotation {
    id: InboxId,
    secret: Option<InboxSecret>,
    request: Option<IdempotentRequest>,
}

/// The function `rotate-inbox-secret`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        mint: cloud.mint.clone(),
    };
    HttpFunction::keyed(cloud, &routes::ROTATE_INBOX_SECRET, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let (id, request) = (call.path_id()?, call.idempotency()?);
    call.query().finish()?;
    let secret = call.object_or_nothing()?.read(&SecretRotation)?;
    let rotation = Rotation {
        id,
        secret,
        request,
    };
    let answer = until_unchanged(Resource::Inbox, || rotate(&state, &call, &rotation)).await?;
    tracing::info!(event = "inbox_secret_rotated", org = %call.org(), key = %call.caller.key_id, inbox = %rotation.id);
    Ok(answer)
}

/// None if the inbox was not as it was read.
async fn rotate(state: &State, call: &Call, rotation: &Rotation) -> Result<Option<Answer>, Error> {
    let Some(read) = state.store.inbox(call.org(), &rotation.id).await? else {
        return replay(&state.store, call, rotation.request.as_ref())
            .await
            .map(Some);
    };
    let old = read.inbox.clone();
    let faults = secret_faults(&old.content, rotation.secret.as_ref());
    Error::if_any(faults.into_iter().collect())?;
    let is_standard = old.content.kind.is_standard();
    let next = rotation.secret.clone();
    let next = next.unwrap_or_else(|| state.mint.inbox_secret(is_standard));
    let (secrets, previous_secret_expires_at) = old.secrets.rotated(next, call.now);
    let answer = Answer::ok(InboxSecretShape {
        secret: secrets.current.reveal(),
        previous_secret_expires_at,
    })?;
    let new = Inbox { secrets, ..old };
    let response = call.response(rotation.request.as_ref(), &answer);
    let replaced = (state.store).replace_inbox(&read, &new, response.as_ref(), call.now);
    let replaced = replaced.await?;
    Ok(replaced.map(|replaced| answer.unless_replayed(replaced)))
}

/// A replay of a rotation of an inbox that is gone since, or a missing one.
async fn replay(
    store: &Store,
    call: &Call,
    request: Option<&IdempotentRequest>,
) -> Result<Answer, Error> {
    if let Some(request) = request {
        let first = store.stored_inbox_response(call.org(), request, call.now);
        if let Some(first) = first.await? {
            return Ok(Answer::replayed(200, first));
        }
    }
    Err(Error::NotFound(Resource::Inbox))
}
