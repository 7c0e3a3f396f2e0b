//! Webhooks: creates deliveries from events of the outbox, and attempts deliveries.
//!
//! A message only names an item to read; the delivery has the state. So a lost, late or duplicate
//! message causes no additional attempt and loses none: an attempt is recorded before it is made,
//! and the sweep resends overdue notifications. A message stays in the queue, invisible, until its
//! delivery is finished.

mod attempt;
mod fan_out;
mod postpone;
mod receiver;
mod spans;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use awo_cloud::notifications::{NotificationQueue, Notifier};
use awo_cloud::settings::webhook_schedule;
use awo_cloud::{Clock, Cloud, Mint, SetupError};
use awo_domain::webhook::delivery::{BATCH_MS, SENDING_MS};
use awo_domain::webhook::schedule::RetrySchedule;
use awo_domain::{Error, OrgId, Timestamp, WebhookId};
use awo_store::Store;
use awo_store::webhooks::addressed::AddressedDelivery;
use awo_store::webhooks::delivery_permits::{PermitOrder, PermitRequest};
use awo_store::webhooks::notifications::{DeliveryRef, Notification};
use awo_store::webhooks::send_permits::SendPermit;
use awo_webhooks::Sender;
use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::future::join_all;

use crate::{Worker, worker};
use postpone::InFlightCount;

/// How long a batch begins attempts: the function ends before its time is over.
const BEGINNING: Duration = Duration::from_millis(BATCH_MS.unsigned_abs());

/// The state of the function.
#[derive(Debug)]
pub struct State {
    store: Store,
    clock: Clock,
    mint: Mint,
    queue: NotificationQueue,
    notifier: Notifier,
    sender: Sender,
    schedule: RetrySchedule,
    hidden: InFlightCount,
}

/// A batch of messages that is handled.
#[derive(Debug, Clone, Copy)]
struct Batch {
    began: Instant,
    /// The same to every receiver: two batches to the same receivers then meet at all of them or at none, and
    /// to meet costs one call, at however many.
    order: PermitOrder,
}

/// A message about a delivery.
#[derive(Debug)]
struct Message {
    id: String,
    receipt_handle: String,
    /// How often it was received, this time included.
    receives: u32,
}

/// A delivery that is to be handled.
#[derive(Debug)]
struct Job {
    message: Message,
    at: DeliveryRef,
    found: AddressedDelivery,
}

/// The deliveries of an organization, by their receivers.
type Receivers = BTreeMap<WebhookId, Vec<Job>>;

/// The verdict on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It is deleted.
    Done,
    /// It comes back at that moment, not earlier.
    Waits(Timestamp),
    /// It comes back soon: the receiver is busy, or another worker handles the delivery.
    Soon,
    /// It comes back when the queue's own time is over.
    Back,
}

/// The function `deliver-webhooks`.
///
/// # Errors
/// When a setting is missing or does not read.
pub fn function(cloud: &Cloud) -> Result<Worker, SetupError> {
    Ok(worker(cloud, state(cloud)?, handle))
}

/// The state of `deliver-webhooks`.
///
/// # Errors
/// When a setting is missing or does not read.
pub fn state(cloud: &Cloud) -> Result<State, SetupError> {
    Ok(State {
        store: cloud.store()?.with_write_batches(),
        clock: cloud.clock.clone(),
        mint: cloud.mint.clone(),
        queue: cloud.notification_queue()?,
        notifier: Notifier::new(cloud),
        sender: Sender::new(&cloud.environment)?,
        schedule: webhook_schedule(&cloud.environment)?,
        hidden: InFlightCount::default(),
    })
}

/// Handles a batch of notifications; the response lists those that are to come back.
///
/// # Errors
/// None: the response lists the messages that failed.
pub async fn handle(
    state: Arc<State>,
    event: SqsEvent,
) -> Result<SqsBatchResponse, lambda_runtime::Error> {
    let now = state.clock.now();
    let batch = Batch {
        began: Instant::now(),
        order: PermitOrder::new(state.mint.random(now)),
    };
    let mut outboxes: BTreeMap<OrgId, Vec<Message>> = BTreeMap::new();
    let (mut deliveries, mut stay) = (Vec::new(), BTreeSet::new());
    for record in event.records {
        let (notification, message) = read(&record);
        match notification {
            Ok(Notification::Outbox(org)) => outboxes.entry(org).or_default().push(message),
            Ok(Notification::Delivery(at)) => deliveries.push((at, message)),
            Err(error) => {
                tracing::error!(
                    event = "not_a_notification",
                    message_id = message.id,
                    ?error,
                    "a message of the deliveries queue is not a notification"
                );
                stay.insert(message.id);
            }
        }
    }
    let outboxes = outboxes
        .into_iter()
        .map(|(org, messages)| fan_out::read_outbox(&state, org, messages, batch.began));
    let (of_outboxes, of_deliveries) = tokio::join!(
        join_all(outboxes),
        attempt_deliveries(&state, deliveries, batch)
    );
    stay.extend(of_outboxes.into_iter().flatten());
    stay.extend(of_deliveries);
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = stay.into_iter().map(failure).collect();
    Ok(response)
}

fn failure(id: String) -> BatchItemFailure {
    let mut failure = BatchItemFailure::default();
    failure.item_identifier = id;
    failure
}

fn read(record: &SqsMessage) -> (Result<Notification, Error>, Message) {
    let body = record.body.as_deref().unwrap_or_default();
    let notification = serde_json::from_str(body)
        .map_err(|e| Error::internal(format!("the message cannot be read: {e}")));
    let receives = record.attributes.get("ApproximateReceiveCount");
    let message = Message {
        id: record.message_id.clone().unwrap_or_default(),
        receipt_handle: record.receipt_handle.clone().unwrap_or_default(),
        receives: receives.and_then(|count| count.parse().ok()).unwrap_or(1),
    };
    (notification, message)
}

/// Handles deliveries, each receiver's beside the others', and returns which messages stay.
async fn attempt_deliveries(
    state: &State,
    deliveries: Vec<(DeliveryRef, Message)>,
    batch: Batch,
) -> Vec<String> {
    if deliveries.is_empty() {
        return Vec::new();
    }
    let refs: Vec<DeliveryRef> = deliveries.iter().map(|(at, _)| at.clone()).collect();
    let orgs: BTreeSet<OrgId> = refs.iter().map(|at| at.org_id.clone()).collect();
    let permits = orgs.iter().map(|org| send_permit(state, org));
    let (found, permits) = tokio::join!(
        state.store.addressed(&refs, state.clock.now()),
        join_all(permits)
    );
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            tracing::error!(
                event = "deliveries_not_read",
                ?error,
                "deliveries could not be read; their messages come back"
            );
            return deliveries.into_iter().map(|(_, m)| m.id).collect();
        }
    };
    let mut owners: BTreeMap<OrgId, Receivers> = BTreeMap::new();
    for ((at, message), found) in deliveries.into_iter().zip(found) {
        let receivers = owners.entry(at.org_id.clone()).or_default();
        let jobs = receivers.entry(at.webhook_id.clone()).or_default();
        jobs.push(Job { message, at, found });
    }
    // Both are in the order of their organizations.
    let each = owners.into_values().zip(permits);
    let each = each.map(|(receivers, permit)| serve_all(state, receivers, permit, batch));
    join_all(each).await.into_iter().flatten().collect()
}

/// A request for a permit for as long as this function sends.
fn permit_request(state: &State) -> PermitRequest {
    let now = state.clock.now();
    PermitRequest::new(state.mint.random(now), now, now.plus_ms(SENDING_MS))
}

/// This function's permit for an organization's attempts, so that its receivers, however many do
/// not respond, occupy a few functions and not all; none if the organization has its share of them.
async fn send_permit(state: &State, org: &OrgId) -> Option<SendPermit> {
    let wanted = permit_request(state);
    match state.store.take_send_permit(org, &wanted).await {
        Ok(permit) => Some(permit),
        Err(Error::TooManyAtOnce { .. }) => None,
        Err(error) => {
            tracing::error!(event = "call_permit_not_taken", %org, ?error, "no permit to send could be taken");
            None
        }
    }
}

/// Serves the receivers of an organization beside each other; without a permit no attempt is made.
async fn serve_all(
    state: &State,
    receivers: Receivers,
    permit: Option<SendPermit>,
    batch: Batch,
) -> Vec<String> {
    let each = receivers
        .into_values()
        .map(|jobs| receiver::serve(state, jobs, permit.as_ref(), batch));
    let stay = join_all(each).await.into_iter().flatten().collect();
    if let Some(permit) = permit {
        permit.give_back().await;
    }
    stay
}
