//! `POST /v1/inboxes/{id}/deliveries/{deliveryId}/replay`: the triggers judge it as they are now.

use std::sync::Arc;

use awo_cloud::bodies::{Bodies, BodyKey};
use awo_cloud::{Cloud, SetupError};
use awo_contract::inboxes::output::InboxDeliveryShape;
use awo_domain::inbox::delivery::{InboxDelivery, InboxOutcome};
use awo_domain::{Error, InboxDeliveryId, InboxId, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

struct State {
    store: Store,
    bodies: Bodies,
}

/// The function `replay-inbox-delivery`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        bodies: cloud.bodies()?,
    };
    HttpFunction::keyed(cloud, &routes::REPLAY_INBOX_DELIVERY, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let (inbox, id): (InboxId, InboxDeliveryId) = (call.path_id()?, call.path_id()?);
    call.query().finish()?;
    call.object_or_nothing()?.finish(Some(()))?;
    let org = call.org();
    let (owner, delivery) = tokio::try_join!(
        state.store.inbox(org, &inbox),
        state.store.inbox_delivery(org, &inbox, &id)
    )?;
    owner.ok_or(Error::NotFound(Resource::Inbox))?;
    let delivery = delivery.ok_or(Error::NotFound(Resource::Delivery))?;
    let key = BodyKey {
        org,
        inbox: &inbox,
        sha256: &delivery.body_sha256,
    };
    if delivery.has_lost_body(call.now) || state.bodies.get(key).await?.is_none() {
        let why = "the body of this delivery is gone: it is stored for 7 days";
        return Err(Error::Conflict(why.to_owned()));
    }
    let waiting = InboxDelivery {
        outcome: InboxOutcome::Pending,
        reason: None,
        ..delivery
    };
    if !(state.store)
        .replay_inbox_delivery(org, &waiting, call.now)
        .await?
    {
        let why = "this delivery waits for its processing already";
        return Err(Error::Conflict(why.to_owned()));
    }
    tracing::info!(event = "delivery_replayed", %org, key = %call.caller.key_id, %inbox, delivery = %id);
    Answer::with(202, InboxDeliveryShape::from(&waiting))
}
