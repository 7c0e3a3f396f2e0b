//! `PUT /v1/triggers/{id}`: a paused trigger goes on, and its work orders count in the budgets of this key.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::triggers::output::TriggerShape;
use awo_domain::trigger::Trigger;
use awo_domain::{Error, Resource, TriggerId};
use awo_execution::opening::Opener;
use awo_http::retry::until_unchanged;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::content::TriggerRequest;

struct State {
    store: Store,
    opener: Opener,
}

/// The function `update-trigger`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        opener: Opener::new(cloud)?,
    };
    HttpFunction::keyed(cloud, &routes::UPDATE_TRIGGER, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let answer = until_unchanged(Resource::Trigger, || update(&state, &call, &id)).await?;
    tracing::info!(event = "trigger_changed", org = %call.org(), key = %call.caller.key_id, trigger = %id);
    Ok(answer)
}

async fn update(state: &State, call: &Call, id: &TriggerId) -> Result<Option<Answer>, Error> {
    let (org, now) = (call.org(), call.now);
    let read = state.store.trigger(org, id).await?;
    let read = read.ok_or(Error::NotFound(Resource::Trigger))?;
    let request = TriggerRequest::read(call.object()?);
    let content = request.content(&state.store, &state.opener, org).await?;
    let new = Trigger {
        created_by: call.caller.key_id.clone(),
        updated_at: Some(now),
        consecutive_refusals: 0,
        paused: None,
        content,
        ..read.trigger.clone()
    };
    if !state.store.replace_trigger(org, &read, &new).await? {
        return Ok(None);
    }
    Answer::ok(TriggerShape::of(&new)?).map(Some)
}
