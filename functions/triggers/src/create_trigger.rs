//! `POST /v1/triggers`: it judges deliveries that are processed from now on.

use std::sync::Arc;

use awo_cloud::{Cloud, Mint, SetupError};
use awo_contract::triggers::output::TriggerShape;
use awo_domain::trigger::Trigger;
use awo_domain::{Error, TriggerId};
use awo_execution::opening::Opener;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::content::TriggerRequest;

struct State {
    store: Store,
    opener: Opener,
    mint: Mint,
}

/// The function `create-trigger`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        opener: Opener::new(cloud)?,
        mint: cloud.mint.clone(),
    };
    HttpFunction::keyed(cloud, &routes::CREATE_TRIGGER, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let (org, now) = (call.org(), call.now);
    let request = TriggerRequest::read(call.object()?);
    let content = request.content(&state.store, &state.opener, org).await?;
    let trigger = Trigger {
        id: TriggerId::new(now, state.mint.random(now)),
        created_by: call.caller.key_id.clone(),
        created_at: now,
        updated_at: None,
        last_fired_at: None,
        consecutive_refusals: 0,
        paused: None,
        recent: Vec::new(),
        content,
    };
    let answer = Answer::created(TriggerShape::of(&trigger)?)?;
    let response = call.response(idempotent.as_ref(), &answer);
    let created = (state.store).create_trigger(org, &trigger, response.as_ref());
    let outcome = created.await?;
    let (key, id) = (&call.caller.key_id, &trigger.id);
    tracing::info!(event = "trigger_created", %org, %key, trigger = %id);
    Ok(answer.unless_replayed(outcome))
}
