//! From the outbox to deliveries: one of each event for each webhook that is enabled and subscribed
//! at the time. The first event of a read is sent at once, if a delivery permit is free: its
//! attempts are recorded in the transaction that removes it from the outbox. All others have
//! messages.

use std::time::Instant;

use awo_domain::webhook::WebhookKind;
use awo_domain::{AttemptId, Error, OrgId};
use awo_store::webhooks::Webhook;
use awo_store::webhooks::deliveries::Delivery;
use awo_store::webhooks::delivery_permits::{DeliveryPermit, PermitOrder};
use awo_store::webhooks::notifications::Notification;
use awo_store::webhooks::outbox::{OutboxEvent, Recipient};
use awo_store::webhooks::send_permits::SendPermit;
use futures::future::join_all;

use super::{Message, State, attempt, permit_request, send_permit};

/// Events of one reading; for what is behind them there is another notification.
const EVENTS: u32 = 100;
/// Events that are written at once.
const AT_ONCE: usize = 8;

/// Reads an organization's outbox, and returns which of the messages about it stay.
pub(super) async fn read_outbox(
    state: &State,
    org: OrgId,
    messages: Vec<Message>,
    began: Instant,
) -> Vec<String> {
    match empty(state, &org, began).await {
        Ok(()) => Vec::new(),
        Err(error) => {
            tracing::error!(event = "outbox_not_read", %org, ?error, "an outbox could not be emptied; its messages come back");
            messages.into_iter().map(|message| message.id).collect()
        }
    }
}

async fn empty(state: &State, org: &OrgId, began: Instant) -> Result<(), Error> {
    let store = &state.store;
    // Before the webhooks: one that was there when an event was appended gets it.
    let events = store.outbox(org, EVENTS).await?;
    let Some((first, others)) = events.items.split_first() else {
        return Ok(());
    };
    let mut webhooks = store.webhooks(org).await?;
    let has_none = webhooks.is_empty();
    webhooks.retain(|webhook| webhook.enabled);
    let noted_at = Instant::now();
    let noted = fan_out_at_once(state, first, &webhooks).await;
    let (firsts, permit, mut failed) = match noted {
        Ok((firsts, permit)) => (firsts, permit, None),
        Err(error) => (Vec::new(), None, Some(error)),
    };
    for some in others.chunks(AT_ONCE) {
        let written = some.iter().map(|event| fan_out(state, event, &webhooks));
        let written = join_all(written).await;
        // One that fails keeps no other in the outbox.
        failed = written.into_iter().find_map(Result::err).or(failed);
    }
    if events.has_more && failed.is_none() {
        store.note(Notification::Outbox(org.clone()));
    }
    // Now, not when this batch is over: a receiver that hangs may hold it for long.
    state.notifier.notify().await;
    let made = firsts
        .into_iter()
        .map(|first| make(state, first, (noted_at, began)));
    join_all(made).await;
    if let Some(permit) = permit {
        permit.give_back().await;
    }
    if has_none {
        store.note_no_webhooks(org).await?;
    }
    failed.map_or(Ok(()), Err)
}

/// The webhooks that are to get an event.
fn subscribed<'a>(event: &OutboxEvent, webhooks: &'a [Webhook]) -> Vec<&'a Webhook> {
    let is_subscribed = |webhook: &&Webhook| webhook.content.events.contains(&event.event_type);
    webhooks.iter().filter(is_subscribed).collect()
}

async fn fan_out(state: &State, event: &OutboxEvent, webhooks: &[Webhook]) -> Result<(), Error> {
    let recipient = |webhook: &Webhook| Recipient {
        webhook: webhook.id.clone(),
        attempt: None,
    };
    let to: Vec<Recipient> = subscribed(event, webhooks)
        .into_iter()
        .map(recipient)
        .collect();
    state.store.fan_out(event, &to, state.clock.now()).await?;
    Ok(())
}

/// A delivery whose attempt is noted, with the delivery permit that is held for it.
struct First<'a> {
    delivery: Delivery,
    webhook: &'a Webhook,
    delivery_permit: DeliveryPermit,
}

/// Writes the deliveries of an event, the first attempt at each receiver noted where there is a delivery permit
/// to it, and the organization has a permit for them.
async fn fan_out_at_once<'a>(
    state: &State,
    event: &OutboxEvent,
    webhooks: &'a [Webhook],
) -> Result<(Vec<First<'a>>, Option<SendPermit>), Error> {
    let to = subscribed(event, webhooks);
    let (permit, delivery_permits) = delivery_permits_to(state, &event.org_id, &to).await;
    let now = state.clock.now();
    let recipient = |(webhook, delivery_permit): (&&Webhook, &Option<DeliveryPermit>)| Recipient {
        webhook: webhook.id.clone(),
        attempt: delivery_permit
            .is_some()
            .then(|| AttemptId::new(now, state.mint.random(now))),
    };
    let recipient: Vec<Recipient> = to.iter().zip(&delivery_permits).map(recipient).collect();
    let noted = state.store.fan_out(event, &recipient, now).await;
    let held = to.into_iter().zip(delivery_permits);
    let held = held.filter_map(|(webhook, delivery_permit)| Some((webhook, delivery_permit?)));
    let begun: &[Delivery] = noted.as_deref().unwrap_or_default();
    if begun.is_empty() {
        // Somebody else has done it, or nobody could.
        join_all(
            held.map(|(_, delivery_permit)| state.store.leave_delivery_permit(delivery_permit)),
        )
        .await;
        return noted.map(|_| (Vec::new(), permit));
    }
    // In the same order, and one for each delivery permit.
    let first = |(delivery, (webhook, delivery_permit)): (&Delivery, _)| First {
        delivery: delivery.clone(),
        webhook,
        delivery_permit,
    };
    Ok((begun.iter().zip(held).map(first).collect(), permit))
}

/// False for what waits until its run is settled, and then for the spans of it.
fn is_sent_at_once(webhook: &Webhook) -> bool {
    webhook.content.kind == WebhookKind::Events
}

/// A send permit, and a delivery permit for each of these receivers where one is free; neither where nothing
/// can be sent.
async fn delivery_permits_to(
    state: &State,
    org: &OrgId,
    to: &[&Webhook],
) -> (Option<SendPermit>, Vec<Option<DeliveryPermit>>) {
    let none = || to.iter().map(|_| None).collect();
    // Before attempts are noted: a fault of this machine uses up none.
    if let Err(error) = state.sender.ready().await {
        tracing::error!(
            event = "sender_not_ready",
            ?error,
            "nothing can be sent; deliveries wait for messages"
        );
        return (None, none());
    }
    if !to.iter().any(|webhook| is_sent_at_once(webhook)) {
        return (None, none());
    }
    let Some(permit) = send_permit(state, org).await else {
        return (None, none());
    };
    // To every receiver the same: who meets another that does this meets it in one transaction.
    let first = PermitOrder::new(state.mint.random(state.clock.now())).first();
    let sender = &permit;
    let delivery_permits = to.iter().map(|webhook| async move {
        if !is_sent_at_once(webhook) {
            return None;
        }
        // One try: where it is held the delivery has a message like any other.
        let (receiver, wanted) = ((sender, &webhook.id), permit_request(state));
        let delivery_permit = (state.store).take_delivery_permit(receiver, &first, &wanted);
        delivery_permit.await.unwrap_or_else(|error| {
            tracing::error!(event = "delivery_permit_not_taken", webhook = %webhook.id, ?error, "no delivery permit could be taken");
            None
        })
    });
    let delivery_permits = join_all(delivery_permits).await;
    (Some(permit), delivery_permits)
}

async fn make(state: &State, first: First<'_>, times: (Instant, Instant)) {
    let First {
        delivery,
        webhook,
        delivery_permit,
    } = first;
    attempt::make_first(state, (delivery, webhook), delivery_permit, times).await;
}
