//! `POST /v1/webhooks/{id}/deliveries/{deliveryId}/redeliver`: the same event and body in a new
//! delivery, with five attempts of its own, the first of them at once.

use std::sync::Arc;

use awo_cloud::{Cloud, Mint, SetupError};
use awo_contract::webhooks::output::DeliveryShape;
use awo_domain::{DeliveryId, Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::engine::idempotency::IdempotentRequest;
use awo_store::webhooks::Webhook;
use awo_store::webhooks::deliveries::Delivery;

struct State {
    store: Store,
    mint: Mint,
}

/// The function `redeliver`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        mint: cloud.mint.clone(),
    };
    HttpFunction::keyed(cloud, &routes::REDELIVER, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let (webhook, delivery) = (call.path_id()?, call.path_id()?);
    let (store, request) = (&state.store, call.idempotency()?);
    call.query().finish()?;
    call.object_or_nothing()?.finish(Some(()))?;
    let (webhook, delivery) = tokio::try_join!(
        store.webhook(call.org(), &webhook),
        store.delivery(call.org(), &webhook, &delivery)
    )?;
    let old = match redeliverable(webhook, delivery) {
        Ok(old) => old,
        Err(error) => return answered_before(store, &call, request.as_ref(), error).await,
    };
    let id = DeliveryId::new(call.now, state.mint.random(call.now));
    let new = old.again(id, call.now);
    let answer = Answer::ok(DeliveryShape::from(&new))?;
    let response = call.response(request.as_ref(), &answer);
    let created = store.create_delivery(&new, response.as_ref());
    Ok(answer.unless_replayed(created.await?))
}

/// The delivery, if it may be made once more. A webhook that is disabled or deleted just now is not
/// sent the new one: the sender reads again.
fn redeliverable(webhook: Option<Webhook>, delivery: Option<Delivery>) -> Result<Delivery, Error> {
    let webhook = webhook.ok_or(Error::NotFound(Resource::Webhook))?;
    let delivery = delivery.ok_or(Error::NotFound(Resource::Delivery))?;
    if !webhook.enabled {
        let what = "this webhook is disabled: enable it first";
        return Err(Error::Conflict(what.to_owned()));
    }
    if !delivery.progress.status.is_terminal() {
        let what = "this delivery is still pending: it is retried automatically";
        return Err(Error::Conflict(what.to_owned()));
    }
    Ok(delivery)
}

/// A replay, whatever has become of webhook and delivery since, or what stands in the way.
async fn answered_before(
    store: &Store,
    call: &Call,
    request: Option<&IdempotentRequest>,
    error: Error,
) -> Result<Answer, Error> {
    if let Some(request) = request {
        let first = store.stored_response(call.org(), request, call.now);
        if let Some(first) = first.await? {
            return Ok(Answer::replayed(200, first));
        }
    }
    Err(error)
}
