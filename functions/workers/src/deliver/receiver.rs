//! One receiver's deliveries of a batch. What needs no attempt is settled at once; the attempts
//! are made one after another, in a lane that is held for all of them, so that a receiver that
//! hangs holds a few processes and not all.

use std::time::Instant;

use awo_domain::{Error, Timestamp};
use awo_store::attempts::{Standing, UNDER_WAY_MS};
use awo_store::deliveries::Delivery;
use awo_store::lanes::LANES;
use awo_store::webhooks::Webhook;

use super::postpone::{postpone, postpone_while_busy};
use super::{BEGINNING, Job, Message, State, Verdict, attempt};

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
enum Settled {
    Is(Verdict, Message),
    Not(Box<Attemptable>),
}

/// Serves the deliveries to one receiver, and tells which messages stay.
pub(super) async fn serve(state: &State, jobs: Vec<Job>, began: Instant) -> Vec<String> {
    let (mut due, mut stay) = (Vec::new(), Vec::new());
    for job in jobs {
        let id = job.message.id.clone();
        match settle(state, job).await {
            Ok(Settled::Not(attemptable)) => due.push(*attemptable),
            Ok(Settled::Is(Verdict::Stays, message)) => stay.push(message.id),
            Ok(Settled::Is(Verdict::Done, _)) => {}
            Err(error) => {
                tracing::error!(message_id = id, ?error, "a delivery was not looked after");
                stay.push(id);
            }
        }
    }
    stay.extend(attempt_all(state, due, began).await);
    stay
}

/// Does for a delivery what needs no attempt.
async fn settle(state: &State, job: Job) -> Result<Settled, Error> {
    let now = state.clock.now();
    let Some(found) = job.found.delivery else {
        tracing::info!(delivery = ?job.at, "the delivery is not there any more");
        return Ok(Settled::Is(Verdict::Done, job.message));
    };
    let given_up = found.given_up(now, &state.schedule, random(state, now));
    let is_given_up = given_up.is_some();
    let delivery = given_up.unwrap_or(found);
    let is_under_way = delivery.attempts.last().is_some_and(|last| last.is_open());
    let reason = match &job.found.webhook {
        None => Some(DELETED),
        Some(webhook) if !webhook.enabled => Some(DISABLED),
        Some(_) => None,
    };
    let standing = delivery.standing(now);
    match (standing, reason, job.found.webhook) {
        (Standing::Over, ..) => {
            if is_given_up {
                state.store.change_delivery(delivery).await?;
            }
            Ok(Settled::Is(Verdict::Done, job.message))
        }
        (_, Some(reason), _) if !is_under_way => {
            let abandoned = state.store.change_delivery(delivery.abandoned(reason));
            let verdict = match abandoned.await? {
                Some(_) => Verdict::Done,
                None => postpone_while_busy(state, &job.message).await,
            };
            Ok(Settled::Is(verdict, job.message))
        }
        (Standing::Waits(until), ..) => {
            if is_given_up {
                state.store.change_delivery(delivery).await?;
            }
            let verdict = postpone(state, &job.message, until).await;
            Ok(Settled::Is(verdict, job.message))
        }
        (Standing::Due, _, Some(webhook)) => Ok(Settled::Not(Box::new(Attemptable {
            message: job.message,
            delivery,
            webhook,
        }))),
        (Standing::Due, _, None) => Err(Error::internal("an attempt that is under way is due")),
    }
}

/// Makes the attempts, in a lane, and tells which messages stay.
async fn attempt_all(state: &State, due: Vec<Attemptable>, began: Instant) -> Vec<String> {
    let Some(first) = due.first() else {
        return Vec::new();
    };
    let now = state.clock.now();
    let (org, webhook) = (first.delivery.org_id.clone(), first.webhook.id.clone());
    let beginning_ms = i64::try_from(BEGINNING.as_millis()).unwrap_or(i64::MAX);
    let until = now.plus_ms(beginning_ms + UNDER_WAY_MS);
    let holder = state.mint.random(now);
    let first = u32::try_from(holder % u128::from(LANES)).unwrap_or(0);
    let holder = format!("{now}#{holder}");
    let lane = state
        .store
        .take_lane((&org, &webhook), (&holder, first), (now, until));
    let lane = match lane.await {
        Ok(lane) => lane,
        Err(error) => {
            tracing::error!(%webhook, ?error, "no lane was taken; the messages come back");
            None
        }
    };
    let mut stay = Vec::new();
    for attemptable in due {
        let id = attemptable.message.id.clone();
        let verdict = match &lane {
            Some(_) if began.elapsed() < BEGINNING => attempt::make(state, attemptable).await,
            _ => Ok(postpone_while_busy(state, &attemptable.message).await),
        };
        match verdict {
            Ok(Verdict::Done) => {}
            Ok(Verdict::Stays) => stay.push(id),
            Err(error) => {
                tracing::error!(
                    message_id = id,
                    ?error,
                    "an attempt was not made or not noted"
                );
                stay.push(id);
            }
        }
    }
    if let Some(lane) = lane {
        state.store.leave_lane(lane).await;
    }
    stay
}

/// Randomness for a jitter.
pub(super) fn random(state: &State, now: Timestamp) -> u64 {
    // The bits of the middle: within a millisecond the others grow one by one.
    let random = state.mint.random(now) >> 8;
    u64::try_from(random & u128::from(u64::MAX)).unwrap_or(0)
}
