//! `PATCH /v1/webhooks/{id}`: the given fields replace the stored ones.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError, settings};
use awo_contract::webhooks::input::WebhookUpdate;
use awo_contract::webhooks::output::WebhookShape;
use awo_domain::webhook::address::Reach;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// How often an update is made anew when others change the webhook under it.
const UPDATE_TRIES: u32 = 8;

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
    for _ in 0..UPDATE_TRIES {
        let known = state.store.webhook(call.org(), &id).await?;
        let known = known.ok_or(Error::NotFound(Resource::Webhook))?;
        let body = WebhookUpdate { reach: state.reach };
        let change = call.object()?.read(&body)?;
        let enabled = change.enabled;
        let content = change.applied_to(known.content.clone());
        let new = known.updated(content, enabled, call.now);
        let replaced = state
            .store
            .replace_webhook(call.org(), &new, None, call.now);
        if replaced.await?.is_some() {
            return Answer::ok(WebhookShape::of(&new, call.now));
        }
    }
    Err(Error::Conflict(
        "other requests keep changing this webhook: try again".to_owned(),
    ))
}
