//! `PATCH /v1/webhooks/{id}`: the given fields replace the stored ones.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError, settings};
use awo_contract::webhooks::input::WebhookUpdate;
use awo_contract::webhooks::output::WebhookShape;
use awo_domain::webhook::address::Reach;
use awo_domain::{Error, Resource, WebhookId};
use awo_http::retry::until_unchanged;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

struct State {
    store: Store,
    reach: Reach,
}

/// The function `update-webhook`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        reach: settings::webhook_reach(&cloud.environment),
    };
    HttpFunction::keyed(cloud, &routes::UPDATE_WEBHOOK, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    until_unchanged(Resource::Webhook, || update(&state, &call, &id)).await
}

async fn update(state: &State, call: &Call, id: &WebhookId) -> Result<Option<Answer>, Error> {
    let stored = state.store.webhook(call.org(), id).await?;
    let stored = stored.ok_or(Error::NotFound(Resource::Webhook))?;
    let body = WebhookUpdate { reach: state.reach };
    let change = call.object()?.read(&body)?;
    let enabled = change.enabled;
    let content = change.applied_to(stored.content.clone())?;
    let new = stored.updated(content, enabled, call.now);
    let replaced = state
        .store
        .replace_webhook(call.org(), &new, None, call.now);
    if replaced.await?.is_none() {
        return Ok(None);
    }
    Answer::ok(WebhookShape::of(&new, call.now)).map(Some)
}
