//! `POST /v1/webhooks/{id}/test`: attempts a test event once, and returns the outcome. It stores no
//! delivery and changes nothing: not even 410 disables the webhook.

use std::sync::Arc;

use awo_cloud::{Cloud, Mint, SetupError};
use awo_contract::webhooks::output::TestShape;
use awo_domain::otlp::{Attribute, SpanStatus, TraceId, TraceSpan, request};
use awo_domain::webhook::delivery::UNDER_WAY_MS;
use awo_domain::webhook::envelope::body_of;
use awo_domain::webhook::signature::Message;
use awo_domain::webhook::{TEST_EVENT, WebhookKind};
use awo_domain::{Error, EventId, OrgId, Resource, Timestamp, WebhookId};
use awo_http::{Answer, Call, Reply, StreamingFunction, routes};
use awo_store::Store;
use awo_store::webhooks::Webhook;
use awo_store::webhooks::delivery_permits::{
    DELIVERY_PERMITS, DeliveryPermit, PermitOrder, PermitRequest,
};
use awo_store::webhooks::send_permits::SendPermit;
use awo_webhooks::{Attempt, Sender};
use serde_json::json;

/// When to come again who found that webhook's delivery permits taken.
const RETRY_S: i64 = 30;

struct State {
    store: Store,
    mint: Mint,
    sender: Sender,
}

/// The function `test-webhook`.
///
/// # Errors
/// When a setting is missing or does not read.
pub fn function(cloud: &Cloud) -> Result<StreamingFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        mint: cloud.mint.clone(),
        sender: Sender::new(&cloud.environment)?,
    };
    StreamingFunction::keyed(cloud, &routes::TEST_WEBHOOK, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Reply, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    call.object_or_nothing()?.finish(Some(()))?;
    let webhook = state.store.webhook(call.org(), &id).await?;
    let webhook = webhook.ok_or(Error::NotFound(Resource::Webhook))?;
    let random = state.mint.random(call.now);
    let until = call.now.plus_ms(UNDER_WAY_MS);
    let wanted = PermitRequest::new(random, call.now, until);
    let permit = state.store.take_send_permit(call.org(), &wanted).await?;
    let receiver = (&permit, &webhook.id);
    let order = PermitOrder::new(random);
    let delivery_permit = delivery_permit(&state.store, receiver, order, &wanted).await;
    let delivery_permit = match delivery_permit {
        Ok(delivery_permit) => delivery_permit,
        Err(error) => {
            permit.give_back().await;
            return Err(error);
        }
    };
    Ok(Reply::late(async move {
        let answer = attempt(&state, call.org(), &webhook, call.now).await;
        tokio::join!(
            state.store.leave_delivery_permit(delivery_permit),
            permit.give_back()
        );
        answer
    }))
}

/// A delivery permit as deliveries have them, so that tests are no way around their limit.
async fn delivery_permit(
    store: &Store,
    receiver: (&SendPermit, &WebhookId),
    order: PermitOrder,
    wanted: &PermitRequest,
) -> Result<DeliveryPermit, Error> {
    let all = order.all();
    let delivery_permit = store.take_delivery_permit(receiver, &all, wanted);
    delivery_permit.await?.ok_or(Error::TooManyAtOnce {
        what: "deliveries to this webhook",
        limit: DELIVERY_PERMITS,
        retry_after_s: RETRY_S,
    })
}

async fn attempt(
    state: &State,
    org: &OrgId,
    webhook: &Webhook,
    now: Timestamp,
) -> Result<Answer, Error> {
    let id = EventId::new(now, state.mint.random(now));
    let body = match webhook.content.kind {
        WebhookKind::Events => {
            let data = json!({ "webhookId": webhook.id });
            body_of(&id, TEST_EVENT, now, data).map_err(Error::internal)?
        }
        WebhookKind::Otlp => test_span(&id, &webhook.id, now),
    };
    let ready = state.sender.ready().await.map_err(Error::internal)?;
    let sent = ready
        .send(&Attempt {
            org,
            url: &webhook.content.url,
            secrets: &webhook.secrets,
            headers: &webhook.content.headers,
            message: Message {
                id: &id,
                sent_at: now,
                body: body.as_bytes(),
            },
        })
        .await;
    Answer::ok(TestShape::of(&id, &sent))
}

/// A trace with one span, which shows that traces arrive.
fn test_span(event: &EventId, webhook: &WebhookId, now: Timestamp) -> String {
    let trace = TraceId::of(event.as_str());
    let span = TraceSpan {
        name: TEST_EVENT.to_owned(),
        id: trace.span(TEST_EVENT),
        parent: None,
        time: (now, now),
        attributes: vec![Attribute::text("awo.webhook.id", webhook.as_str())],
        events: Vec::new(),
        status: (SpanStatus::Ok, None),
    };
    request(&trace, &[span])
}
