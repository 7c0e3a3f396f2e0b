//! Attempts to one receiver, in sequence: several are recorded together, made, and their outcomes
//! recorded together. A crash in between consumes them; a recorded attempt that did not begin in
//! time is withdrawn.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use awo_domain::webhook::delivery::{BEGIN_MS, DeliveryEvent};
use awo_domain::webhook::schedule::Next;
use awo_domain::webhook::signature::Message as Signed;
use awo_domain::{AttemptId, Error, Timestamp};
use awo_store::webhooks::Webhook;
use awo_store::webhooks::deliveries::Delivery;
use awo_store::webhooks::delivery_permits::{BeginOutcome, DeliveryPermit};
use awo_store::webhooks::notifications::Notification;
use awo_store::webhooks::send_permits::SendPermit;
use awo_webhooks::{Attempt, Ready};
use futures::future::join_all;

use super::receiver::{Attemptable, random};
use super::{BEGINNING, Batch, Message, State, Verdict, permit_request};

/// How long after it was noted an attempt may begin.
const BEGIN: Duration = Duration::from_millis(BEGIN_MS.unsigned_abs());
/// A receiver that takes longer for what it was sent gets one delivery at a time: who dies on the
/// way uses up one attempt, and nothing is shown as under way that waits.
const QUICK: Duration = Duration::from_secs(1);

/// The outcomes of deliveries that were due.
#[derive(Debug, Default)]
struct Outcomes {
    settled: Vec<(Message, Verdict)>,
    /// Noted, not made, and taken back.
    left: Vec<Attemptable>,
    /// True if the receiver answered that it is gone.
    is_gone: bool,
}

/// An attempt that is noted.
#[derive(Debug)]
struct RecordedAttempt {
    of: Attemptable,
    begun: Delivery,
}

/// Attempts that were noted together.
#[derive(Debug)]
struct Series {
    noted: Vec<RecordedAttempt>,
    /// Not after that.
    noted_at: Instant,
    /// True if nothing else is due.
    are_last: bool,
}

/// Makes the attempts of deliveries that are due, in a delivery permit, and answers what becomes of their
/// messages. The delivery permit is taken with the first attempt, and given back beside the last ends, which
/// nobody has to wait for.
pub(super) async fn make_all(
    state: &State,
    due: Vec<Attemptable>,
    free: Option<(&SendPermit, Vec<u32>)>,
    Batch { began, order }: Batch,
) -> Vec<(Message, Verdict)> {
    if due.is_empty() {
        return Vec::new();
    }
    // Before attempts are noted: a fault of this machine uses up none.
    let ready = match state.sender.ready().await {
        Ok(ready) => ready,
        Err(error) => {
            tracing::error!(
                event = "sender_not_ready",
                ?error,
                "nothing can be sent; the messages come back"
            );
            return all(due, Verdict::Back).collect();
        }
    };
    let Some((permit, free)) = free else {
        return all(due, Verdict::Soon).collect();
    };
    let mut due = VecDeque::from(due);
    let (mut settled, mut noted_at) = (Vec::new(), Instant::now());
    let free = (permit, order.of(free));
    let Some((delivery_permit, first)) =
        take_delivery_permit(state, &mut due, free, &mut settled).await
    else {
        return settled;
    };
    // One alone, to see what the receiver is like.
    let (mut delivery_permit, mut noted) = (Some(delivery_permit), vec![first]);
    loop {
        let series = Series {
            noted,
            noted_at,
            are_last: due.is_empty(),
        };
        let (made, took) = make(state, ready, series, &mut delivery_permit, began).await;
        settled.extend(made.settled);
        due.extend(made.left);
        if due.is_empty()
            || made.is_gone
            || delivery_permit.is_none()
            || began.elapsed() >= BEGINNING
        {
            break;
        }
        let together = if took < QUICK { due.len() } else { 1 };
        let some = due.drain(..together).collect();
        noted_at = Instant::now();
        noted = note(state, some, &mut settled).await;
    }
    leave(state, delivery_permit).await;
    settled.extend(all(due, Verdict::Soon));
    settled
}

fn all(
    of: impl IntoIterator<Item = Attemptable>,
    verdict: Verdict,
) -> impl Iterator<Item = (Message, Verdict)> {
    of.into_iter().map(move |of| (of.message, verdict))
}

async fn leave(state: &State, delivery_permit: Option<DeliveryPermit>) {
    if let Some(delivery_permit) = delivery_permit {
        state.store.leave_delivery_permit(delivery_permit).await;
    }
}

/// Takes a delivery permit with the first attempt that can be noted. None if there is none; then all
/// messages are settled.
async fn take_delivery_permit(
    state: &State,
    due: &mut VecDeque<Attemptable>,
    (permit, delivery_permits): (&SendPermit, Vec<u32>),
    settled: &mut Vec<(Message, Verdict)>,
) -> Option<(DeliveryPermit, RecordedAttempt)> {
    while let Some(of) = due.pop_front() {
        let wanted = permit_request(state);
        let begun = async {
            let begun = begun(state, &of.delivery, wanted.now)?;
            (state.store)
                .begin_in_delivery_permit((permit, begun), &delivery_permits, &wanted)
                .await
        };
        match begun.await {
            Ok(BeginOutcome::WithPermit(delivery_permit, begun)) => {
                return Some((delivery_permit, RecordedAttempt { of, begun: *begun }));
            }
            Ok(BeginOutcome::Changed) => settled.push((of.message, Verdict::Soon)),
            Ok(BeginOutcome::Busy) => {
                settled.push((of.message, Verdict::Soon));
                settled.extend(all(due.drain(..), Verdict::Soon));
            }
            Err(error) => {
                settled.push((of.message, not_written(&error)));
                settled.extend(all(due.drain(..), Verdict::Back));
            }
        }
    }
    None
}

fn begun(state: &State, delivery: &Delivery, now: Timestamp) -> Result<Delivery, Error> {
    let id = AttemptId::new(now, state.mint.random(now));
    delivery.after(DeliveryEvent::Begun(id, now))
}

/// Makes attempts that are noted, gives the delivery permit back behind the last ones unless some of them were
/// not made, and returns how long it took to send them.
async fn make(
    state: &State,
    ready: &Ready,
    series: Series,
    delivery_permit: &mut Option<DeliveryPermit>,
    began: Instant,
) -> (Outcomes, Duration) {
    let mut made = Outcomes::default();
    let mut ends = Vec::new();
    let sending = Instant::now();
    for noted in series.noted {
        let end = if made.is_gone || is_late(series.noted_at, began) {
            DeliveryEvent::Withdrawn
        } else {
            send(state, ready, &noted.of.webhook, body_of(&noted)).await
        };
        made.is_gone |= end.next() == Some(Next::Gone);
        ends.push((noted, end));
    }
    let took = sending.elapsed();
    let are_made = ends.iter().all(|(_, end)| end.next().is_some());
    let delivery_permit = delivery_permit.take_if(|_| series.are_last && are_made);
    tokio::join!(
        note_ends(state, ends, &mut made),
        leave(state, delivery_permit)
    );
    (made, took)
}

/// Notes the attempts; a message that is settled belongs to a delivery that another worker attempts.
async fn note(
    state: &State,
    due: Vec<Attemptable>,
    settled: &mut Vec<(Message, Verdict)>,
) -> Vec<RecordedAttempt> {
    let now = state.clock.now();
    let begun = due.iter().map(|of| async {
        let begun = begun(state, &of.delivery, now)?;
        state.store.change_delivery(begun).await
    });
    let begun = join_all(begun).await;
    let mut noted = Vec::new();
    for (of, begun) in due.into_iter().zip(begun) {
        match begun {
            Ok(Some(begun)) => noted.push(RecordedAttempt { of, begun }),
            Ok(None) => settled.push((of.message, Verdict::Soon)),
            Err(error) => settled.push((of.message, not_written(&error))),
        }
    }
    noted
}

/// Makes an attempt that was noted with its delivery, and notes its end; what follows is a notification.
pub(super) async fn make_first(
    state: &State,
    (begun, webhook): (Delivery, &Webhook),
    delivery_permit: DeliveryPermit,
    (noted_at, began): (Instant, Instant),
) {
    let at = begun.at();
    let end = match state.sender.ready().await {
        Ok(ready) if !is_late(noted_at, began) => {
            send(state, ready, webhook, (&begun, &begun.body)).await
        }
        _ => DeliveryEvent::Withdrawn,
    };
    let next = end.next();
    let (written, ()) = tokio::join!(
        note_end(state, webhook, &begun, end),
        state.store.leave_delivery_permit(delivery_permit)
    );
    if after(next, written) != Verdict::Done {
        state.store.note(Notification::Delivery(at));
    }
}

/// True if no attempt is to begin any more.
fn is_late(noted_at: Instant, began: Instant) -> bool {
    noted_at.elapsed() > BEGIN || began.elapsed() > BEGINNING
}

/// An attempt with the body that it sends.
fn body_of(noted: &RecordedAttempt) -> (&Delivery, &str) {
    let spans = noted.of.spans.as_ref();
    (&noted.begun, spans.unwrap_or(&noted.begun.body))
}

/// Makes an attempt that is noted.
async fn send(
    state: &State,
    ready: &Ready,
    webhook: &Webhook,
    (begun, body): (&Delivery, &str),
) -> DeliveryEvent {
    let report = ready
        .send(&Attempt {
            org: &begun.org_id,
            url: &webhook.content.url,
            secrets: &webhook.secrets,
            headers: &webhook.content.headers,
            message: Signed {
                id: &begun.event_id,
                sent_at: state.clock.now(),
                body: body.as_bytes(),
            },
        })
        .await;
    let random = random(state, report.ended_at());
    let next = begun.progress.next(&report, &state.schedule, random);
    DeliveryEvent::Ended(report, next)
}

/// Notes how a noted attempt ended, or that it was not made. None if the delivery is not as it was noted.
async fn note_end(
    state: &State,
    webhook: &Webhook,
    begun: &Delivery,
    end: DeliveryEvent,
) -> Result<Option<Delivery>, Error> {
    let is_gone = end.next() == Some(Next::Gone);
    let new = begun.after(end)?;
    if is_gone {
        let url = &webhook.content.url;
        state.store.end_gone(new, url, state.clock.now()).await
    } else {
        state.store.change_delivery(new).await
    }
}

async fn note_ends(
    state: &State,
    ends: Vec<(RecordedAttempt, DeliveryEvent)>,
    made: &mut Outcomes,
) {
    let written = ends.into_iter().map(|(noted, end)| async move {
        let RecordedAttempt { of, begun } = noted;
        let next = end.next();
        let written = note_end(state, &of.webhook, &begun, end).await;
        (of, next, written)
    });
    for (of, next, written) in join_all(written).await {
        match (next, written) {
            (None, Ok(Some(delivery))) => made.left.push(Attemptable { delivery, ..of }),
            (next, written) => made.settled.push((of.message, after(next, written))),
        }
    }
}

/// What becomes of the message when an end was to be written; without a next one it was not made.
fn after(next: Option<Next>, written: Result<Option<Delivery>, Error>) -> Verdict {
    match (written, next) {
        (Ok(Some(_)), Some(Next::Retry(at))) => Verdict::Waits(at),
        (Ok(Some(_)), Some(Next::Delivered | Next::Abandoned | Next::Gone)) => Verdict::Done,
        // It took so long that somebody has given it up: what follows is theirs, and read again.
        (Ok(Some(_)), None) | (Ok(None), _) => Verdict::Soon,
        (Err(error), _) => not_written(&error),
    }
}

fn not_written(error: &Error) -> Verdict {
    tracing::error!(
        event = "attempt_not_recorded",
        ?error,
        "an attempt could not be recorded; its message comes back"
    );
    Verdict::Back
}
