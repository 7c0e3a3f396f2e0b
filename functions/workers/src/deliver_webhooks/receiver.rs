//! One receiver's deliveries in a batch. Those that need no attempt are settled at once; the
//! attempts are made in sequence, under one delivery permit for all of them, so that a receiver
//! that does not respond occupies a few functions and not all.

use std::collections::BTreeSet;

use awo_domain::webhook::delivery::{DeliveryEvent, DeliveryStanding, DeliveryState};
use awo_domain::{Error, Timestamp};
use awo_store::webhooks::Webhook;
use awo_store::webhooks::addressed::AddressedDelivery;
use awo_store::webhooks::deliveries::Delivery;
use awo_store::webhooks::send_permits::SendPermit;

use super::{Batch, Job, Message, State, Verdict, attempt, postpone};

const DELETED: &str = "the webhook was deleted";
const DISABLED: &str = "the webhook was disabled";

/// A delivery of which an attempt is to be made now.
#[derive(Debug)]
pub(super) struct Attemptable {
    pub message: Message,
    pub delivery: Delivery,
    pub webhook: Webhook,
}

/// What is to be done for a job, but an attempt.
enum JobOutcome {
    Is(Verdict),
    Not(Box<(Delivery, Webhook)>),
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
                let (delivery, webhook) = *attemptable;
                due.push(Attemptable {
                    message,
                    delivery,
                    webhook,
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
        (_, Some(reason), _) if !is_under_way => {
            let abandoned = delivery.after(DeliveryEvent::Abandoned(reason.to_owned()))?;
            match state.store.change_delivery(abandoned).await? {
                Some(_) => Verdict::Done,
                None => Verdict::Soon,
            }
        }
        (DeliveryStanding::Waits(until), ..) => {
            if is_given_up {
                state.store.change_delivery(delivery).await?;
            }
            Verdict::Waits(until)
        }
        (DeliveryStanding::Due, _, Some(webhook)) => {
            return Ok(JobOutcome::Not(Box::new((delivery, webhook))));
        }
        (DeliveryStanding::Due, _, None) => {
            return Err(Error::internal("an attempt that is under way is due"));
        }
    };
    Ok(JobOutcome::Is(verdict))
}

/// Randomness for a jitter.
pub(super) fn random(state: &State, now: Timestamp) -> u64 {
    // The bits of the middle: within a millisecond the others grow one by one.
    let random = state.mint.random(now) >> 8;
    u64::try_from(random & u128::from(u64::MAX)).unwrap_or(0)
}
