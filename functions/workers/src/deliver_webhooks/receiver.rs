//! One receiver's deliveries in a batch. Those that need no attempt are settled at once; the
//! attempts are made in sequence, under one delivery permit for all of them, so that a receiver
//! that does not respond occupies a few functions and not all.

use std::collections::BTreeSet;

use awo_domain::webhook::WebhookKind;
use awo_domain::webhook::delivery::{DeliveryEvent, DeliveryStanding, DeliveryState};
use awo_domain::{Error, Timestamp};
use awo_store::webhooks::Webhook;
use awo_store::webhooks::addressed::AddressedDelivery;
use awo_store::webhooks::deliveries::Delivery;
use awo_store::webhooks::send_permits::SendPermit;

use super::spans::{self, SpansOutcome};
use super::{Batch, Job, Message, State, Verdict, attempt, postpone};

const DELETED: &str = "the webhook was deleted";
const DISABLED: &str = "the webhook was disabled";
const PURGED: &str = "the run was purged";
const UNSETTLED: &str = "the run was not settled within a day";
/// How long spans wait until it is looked again whether their run is settled; at most so long in all.
const SETTLEMENT_MS: i64 = 10_000;
const MAX_SETTLEMENT_MS: i64 = 24 * 3_600_000;

/// A delivery of which an attempt is to be made now.
#[derive(Debug)]
pub(super) struct Attemptable {
    pub message: Message,
    pub delivery: Delivery,
    pub webhook: Webhook,
    /// The body, if it is another than the event's.
    pub spans: Option<String>,
}

/// What is to be done for a job, but an attempt.
enum JobOutcome {
    Is(Verdict),
    Not(Box<(Delivery, Webhook, Option<String>)>),
}

/// Serves the deliveries to one receiver, and returns which messages stay.
pub(super) async fn serve(
    state: &State,
    jobs: Vec<Job>,
    permit: Option<&SendPermit>,
    batch: Batch,
) -> Vec<String> {
    let (mut due, mut settled, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut free_delivery_permits = Vec::new();
    for Job { message, at, found } in jobs {
        free_delivery_permits.clone_from(&found.free_delivery_permits);
        if !seen.insert(at.id) {
            // A message that came twice: the other one makes the attempt.
            settled.push((message, Verdict::Soon));
            continue;
        }
        match settle(state, found).await {
            Ok(JobOutcome::Not(attemptable)) => {
                let (delivery, webhook, spans) = *attemptable;
                due.push(Attemptable {
                    message,
                    delivery,
                    webhook,
                    spans,
                });
            }
            Ok(JobOutcome::Is(verdict)) => settled.push((message, verdict)),
            Err(error) => {
                let message_id = &message.id;
                tracing::error!(
                    event = "delivery_failed_internally",
                    message_id,
                    ?error,
                    "a delivery could not be handled"
                );
                settled.push((message, Verdict::Back));
            }
        }
    }
    let free = permit.map(|permit| (permit, free_delivery_permits));
    settled.extend(attempt::make_all(state, due, free, batch).await);
    postpone::settle(state, settled).await
}

/// Does for a delivery what needs no attempt.
async fn settle(state: &State, found: AddressedDelivery) -> Result<JobOutcome, Error> {
    let now = state.clock.now();
    let AddressedDelivery {
        delivery, webhook, ..
    } = found;
    let Some(found) = delivery else {
        // DynamoDB has removed it in its time.
        return Ok(JobOutcome::Is(Verdict::Done));
    };
    let unseen_end = (found.progress).unseen_end(now, &state.schedule, random(state, now));
    let is_given_up = unseen_end.is_some();
    let delivery = match unseen_end {
        Some(end) => found.after(end)?,
        None => found,
    };
    let is_under_way = delivery.progress.state() == DeliveryState::UnderWay;
    let reason = match &webhook {
        None => Some(DELETED),
        Some(webhook) if !webhook.enabled => Some(DISABLED),
        Some(_) => None,
    };
    let standing = delivery.progress.standing(now);
    let verdict = match (standing, reason, webhook) {
        (DeliveryStanding::Over, ..) => {
            if is_given_up {
                state.store.change_delivery(delivery).await?;
            }
            Verdict::Done
        }
        (_, Some(reason), _) if !is_under_way => abandon(state, &delivery, reason).await?,
        (DeliveryStanding::Waits(until), ..) => {
            if is_given_up {
                state.store.change_delivery(delivery).await?;
            }
            Verdict::Waits(until)
        }
        (DeliveryStanding::Due, _, Some(webhook)) => {
            return attemptable(state, delivery, webhook, now).await;
        }
        (DeliveryStanding::Due, _, None) => {
            return Err(Error::internal("an attempt that is under way is due"));
        }
    };
    Ok(JobOutcome::Is(verdict))
}

async fn abandon(state: &State, delivery: &Delivery, reason: &str) -> Result<Verdict, Error> {
    let abandoned = delivery.after(DeliveryEvent::Abandoned(reason.to_owned()))?;
    let written = state.store.change_delivery(abandoned).await?;
    Ok(written.map_or(Verdict::Soon, |_| Verdict::Done))
}

/// A delivery that is due, with what is sent; spans come before the attempt is recorded, so that a run that is
/// not settled uses up none.
async fn attemptable(
    state: &State,
    delivery: Delivery,
    webhook: Webhook,
    now: Timestamp,
) -> Result<JobOutcome, Error> {
    let spans = match (webhook.content.kind, &delivery.run_id) {
        (WebhookKind::Events, _) | (WebhookKind::Otlp, None) => None,
        (WebhookKind::Otlp, Some(run)) => {
            match spans::of_run(&state.store, (&delivery.org_id, run), now).await? {
                SpansOutcome::Ready(spans) => Some(spans),
                SpansOutcome::Gone => {
                    return abandon(state, &delivery, PURGED).await.map(JobOutcome::Is);
                }
                SpansOutcome::Unsettled
                    if now.ms_since(delivery.created_at) > MAX_SETTLEMENT_MS =>
                {
                    return abandon(state, &delivery, UNSETTLED)
                        .await
                        .map(JobOutcome::Is);
                }
                SpansOutcome::Unsettled => {
                    let until = now.plus_ms(SETTLEMENT_MS);
                    return Ok(JobOutcome::Is(Verdict::Waits(until)));
                }
            }
        }
    };
    Ok(JobOutcome::Not(Box::new((delivery, webhook, spans))))
}

/// Randomness for a jitter.
pub(super) fn random(state: &State, now: Timestamp) -> u64 {
    // The bits of the middle: within a millisecond the others grow one by one.
    let random = state.mint.random(now) >> 8;
    u64::try_from(random & u128::from(u64::MAX)).unwrap_or(0)
}
