//! `POST /v1/hooks/{inboxId}`: stores a delivery and acknowledges it. First its body, then the delivery, then the
//! answer: a crash between leaves a body that expires, or a delivery that is stored and comes again.

use std::sync::Arc;
use std::time::Duration;

use awo_cloud::bodies::{Bodies, BodyKey};
use awo_cloud::{Cloud, Mint, SetupError};
use awo_contract::inboxes::output::ReceiptShape;
use awo_domain::inbox::delivery::{
    InboxDelivery, InboxOutcome, event_of, kept_headers, sender_id_of,
};
use awo_domain::inbox::signature::{
    HookMessage, SignatureProof, duplicate_key, pretend, sha256, verify,
};
use awo_domain::inbox::{Inbox, InboxKind, MAX_BODY_BYTES, MAX_UNPROCESSED};
use awo_domain::{Error, InboxDeliveryId, InboxId, Timestamp};
use awo_http::call::body_bytes;
use awo_http::{Answer, HttpFunction, routes};
use awo_store::Store;
use awo_store::inboxes::deliveries::StoreOutcome;
use lambda_http::{Request, RequestExt};

use crate::any_json::AnyJson;

/// Longest time for storing: senders give up after ten seconds.
const STORING: Duration = Duration::from_secs(9);
/// Seconds until a sender may try again while too much is unprocessed.
const FULL_RETRY_S: i64 = 60;
/// The member of a form that has the JSON.
const PAYLOAD: &str = "payload";

struct State {
    store: Store,
    bodies: Bodies,
    mint: Mint,
}

/// The function `receive-delivery`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        bodies: cloud.bodies()?,
        mint: cloud.mint.clone(),
    };
    HttpFunction::signed(cloud, &routes::RECEIVE_DELIVERY, state, handle)
}

async fn handle(state: Arc<State>, request: Request, now: Timestamp) -> Result<Answer, Error> {
    let receiving = receive(&state, &request, now);
    let received = tokio::time::timeout(STORING, receiving).await;
    received.unwrap_or_else(|_| Err(Error::internal("a delivery was not stored in time")))
}

async fn receive(state: &State, request: &Request, now: Timestamp) -> Result<Answer, Error> {
    let body = body_bytes(request);
    if body.len() > MAX_BODY_BYTES {
        return Err(Error::PayloadTooLarge {
            limit_bytes: MAX_BODY_BYTES,
        });
    }
    let headers = headers_of(request);
    let message = HookMessage {
        headers: &headers,
        body,
        received_at: now,
    };
    let (inbox, proof) = authenticate(state, request, &message).await?;
    // Before anything of the body is read: a suspended organization's sender learns nothing of its faults.
    admit(state, &inbox).await?;
    let payload = payload_of(inbox.content.kind, &message)?;
    let delivery = delivery_of(state, &inbox, &message);
    let key = BodyKey {
        org: &inbox.org_id,
        inbox: &inbox.id,
        sha256: &delivery.body_sha256,
    };
    state.bodies.put(key, payload).await?;
    let mark = duplicate_key(&inbox.content, &proof, body);
    let stored = (state.store).store_inbox_delivery(&inbox.org_id, &delivery, mark.as_deref());
    let (status, delivery_id) = match stored.await? {
        StoreOutcome::New => (202, delivery.id),
        StoreOutcome::Duplicate(first) => (200, first),
    };
    let (org, id) = (&inbox.org_id, &inbox.id);
    tracing::info!(event = "delivery_received", %org, inbox = %id, delivery = %delivery_id, status);
    Answer::with(
        status,
        ReceiptShape {
            delivery_id: &delivery_id,
            duplicate: status == 200,
        },
    )
}

/// The inbox, if it is enabled and the signature holds. One read and one check, whatever is wrong.
async fn authenticate(
    state: &State,
    request: &Request,
    message: &HookMessage<'_>,
) -> Result<(Inbox, SignatureProof), Error> {
    let parameters = request.path_parameters_ref();
    let text = parameters.and_then(|all| all.first("inboxId"));
    // What is no id is not there, either.
    let id = text.and_then(|text| InboxId::parse(text).ok());
    let id = id.unwrap_or_else(|| InboxId::new(message.received_at, 0));
    let Some(read) = state.store.any_inbox(&id).await? else {
        pretend(message);
        return Err(Error::UnsignedDelivery);
    };
    let inbox = read.inbox;
    let proof = verify(&inbox.content, &inbox.secrets, message);
    let proof = proof.filter(|_| inbox.content.enabled);
    Ok((inbox, proof.ok_or(Error::UnsignedDelivery)?))
}

/// Checks that the organization takes deliveries now.
async fn admit(state: &State, inbox: &Inbox) -> Result<(), Error> {
    let (tally, unprocessed) = tokio::try_join!(
        state.store.tally(&inbox.org_id),
        state.store.count_unprocessed(&inbox.org_id)
    )?;
    if tally.suspended_at.is_some() {
        return Err(Error::UnsignedDelivery);
    }
    if unprocessed >= MAX_UNPROCESSED {
        return Err(Error::InboxesFull {
            limit: MAX_UNPROCESSED,
            retry_after_s: FULL_RETRY_S,
        });
    }
    Ok(())
}

fn delivery_of(state: &State, inbox: &Inbox, message: &HookMessage<'_>) -> InboxDelivery {
    let (kind, now) = (inbox.content.kind, message.received_at);
    let headers = kept_headers(message);
    InboxDelivery {
        id: InboxDeliveryId::new(now, state.mint.random(now)),
        inbox_id: inbox.id.clone(),
        kind,
        host: inbox.content.host.clone(),
        body_sha256: sha256(message.body),
        body_bytes: message.body.len() as u64,
        received_at: now,
        event: event_of(kind, &headers),
        sender_id: sender_id_of(kind, &headers),
        subject: None,
        actor: None,
        outcome: InboxOutcome::Pending,
        reason: None,
        triggers: Vec::new(),
        headers,
    }
}

fn headers_of(request: &Request) -> Vec<(String, String)> {
    let headers = request.headers().iter();
    let text = headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?)));
    text.map(|(name, value)| (name, value.to_owned())).collect()
}

/// The JSON of a body, or of a form in which GitHub and Gitea may send it.
fn payload_of(kind: InboxKind, message: &HookMessage<'_>) -> Result<Vec<u8>, Error> {
    let content_type = message.header("content-type").unwrap_or_default();
    let is_form = content_type.starts_with("application/x-www-form-urlencoded");
    let sends_forms = matches!(kind, InboxKind::Github | InboxKind::Gitea);
    let payload = if is_form && sends_forms {
        let mut members = url::form_urlencoded::parse(message.body);
        let payload = members.find(|(name, _)| name == PAYLOAD);
        let payload = payload.map(|(_, value)| value.into_owned().into_bytes());
        payload.ok_or_else(|| Error::invalid("", "must be a form with payload, or JSON"))?
    } else {
        message.body.to_vec()
    };
    let parsed: Result<AnyJson, _> = serde_json::from_slice(&payload);
    match parsed {
        Ok(_) => Ok(payload),
        Err(why) => Err(Error::invalid("", format!("is not valid JSON: {why}"))),
    }
}
