//! `POST /v1/webhooks/{id}/rotate-secret`: a new secret, which only this response shows. The
//! previous one also signs for 24 h; an older one no longer does.

use std::sync::Arc;

use awo_cloud::{Cloud, Mint, SetupError};
use awo_contract::webhooks::output::NewSecretShape;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::engine::idempotency::IdempotentRequest;
use awo_store::webhooks::Webhook;

/// How often a rotation is made anew when others change the webhook under it.
const ROTATE_TRIES: u32 = 8;

struct State {
    store: Store,
    mint: Mint,
}

/// The function `rotate-webhook-secret`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        mint: cloud.mint.clone(),
    };
    HttpFunction::keyed(cloud, &routes::ROTATE_WEBHOOK_SECRET, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let (id, request) = (call.path_id()?, call.idempotency()?);
    call.query().finish()?;
    call.object_or_nothing()?.finish(Some(()))?;
    for _ in 0..ROTATE_TRIES {
        let Some(known) = state.store.webhook(call.org(), &id).await? else {
            return answered_before(&state.store, &call, request.as_ref()).await;
        };
        if let Some(answer) = rotate(&state, &call, &known, request.as_ref()).await? {
            return Ok(answer);
        }
    }
    Err(Error::Conflict(
        "other requests keep changing this webhook: try again".to_owned(),
    ))
}

/// None if the webhook was not as it was read.
async fn rotate(
    state: &State,
    call: &Call,
    known: &Webhook,
    request: Option<&IdempotentRequest>,
) -> Result<Option<Answer>, Error> {
    let (new, previous_until) = known.rotated(state.mint.webhook_secret(), call.now);
    let answer = Answer::ok(NewSecretShape {
        secret: new.secrets.current.reveal(),
        previous_secret_expires_at: previous_until,
    })?;
    let response = call.response(request, &answer);
    let replaced = (state.store).replace_webhook(call.org(), &new, response.as_ref(), call.now);
    let replaced = replaced.await?;
    Ok(replaced.map(|replaced| answer.unless_replayed(replaced)))
}

/// A replay of a rotation of a webhook that is gone since, or a missing one.
async fn answered_before(
    store: &Store,
    call: &Call,
    request: Option<&IdempotentRequest>,
) -> Result<Answer, Error> {
    if let Some(request) = request {
        let first = store.stored_webhook_response(call.org(), request, call.now);
        if let Some(first) = first.await? {
            return Ok(Answer::replayed(200, first));
        }
    }
    Err(Error::NotFound(Resource::Webhook))
}
