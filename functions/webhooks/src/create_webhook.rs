//! `POST /v1/webhooks`: the only response that shows the webhook's first secret.

use std::sync::Arc;

use awo_cloud::{Cloud, Mint, SetupError, settings};
use awo_contract::webhooks::input::NewWebhook;
use awo_contract::webhooks::output::NewWebhookShape;
use awo_domain::webhook::address::Reach;
use awo_domain::{Error, WebhookId};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::webhooks::Webhook;

struct State {
    store: Store,
    mint: Mint,
    reach: Reach,
}

/// The function `create-webhook`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        mint: cloud.mint.clone(),
        reach: settings::webhook_reach(&cloud.environment),
    };
    HttpFunction::keyed(cloud, &routes::CREATE_WEBHOOK, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let body = NewWebhook { reach: state.reach };
    let content = call.object()?.read(&body)?;
    let id = WebhookId::new(call.now, state.mint.random(call.now));
    let webhook = Webhook::new(id, content, state.mint.webhook_secret(), call.now);
    let answer = Answer::created(NewWebhookShape::of(&webhook))?;
    let response = call.response(idempotent.as_ref(), &answer);
    let created = state
        .store
        .create_webhook(call.org(), &webhook, response.as_ref());
    Ok(answer.unless_replayed(created.await?))
}
