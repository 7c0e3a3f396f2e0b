//! Dispatch: while an organization has a free slot, the next entry in fair order takes it.
//!
//! The bell that wakes it says only whose queue to look at. What must not be lost is in the
//! tables: an entry waits until it is dispatched, a dispatched run has a lease, and a lease
//! without a task is asked for again.

use std::sync::Arc;

use awo_cloud::compute::Compute;
use awo_cloud::queue::{Doorbell, RunQueue};
use awo_cloud::{Clock, Cloud, Mint, SetupError, settings};
use awo_domain::queue::{Waiting, fair_order};
use awo_domain::{Error, OrgId};
use awo_store::Store;
use awo_store::dispatch::{Dispatched, EntryItem, QueueState};
use awo_store::lease::Lease;
use awo_store::tally::QueueLimits;
use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};

use crate::start_task::start_task;

/// Most dispatches for one bell; what is left gets a new one.
const MAX_DISPATCHES: u32 = 25;

/// What the function stands on.
#[derive(Debug, Clone)]
pub struct State {
    store: Store,
    compute: Compute,
    queue: RunQueue,
    clock: Clock,
    mint: Mint,
    limits: QueueLimits,
}

/// The state of `dispatch-runs`.
///
/// # Errors
/// When a setting is missing.
pub fn state(cloud: &Cloud) -> Result<State, SetupError> {
    Ok(State {
        store: cloud.store()?,
        compute: cloud.compute()?,
        queue: cloud.run_queue()?,
        clock: cloud.clock.clone(),
        mint: cloud.mint.clone(),
        limits: settings::queue_limits(&cloud.environment)?,
    })
}

/// Handles a batch of bells; those that failed ring again.
///
/// # Errors
/// None: failures are told bell by bell.
pub async fn handle(
    state: Arc<State>,
    event: SqsEvent,
) -> Result<SqsBatchResponse, lambda_runtime::Error> {
    let mut response = SqsBatchResponse::default();
    for message in event.records {
        let id = message.message_id.clone().unwrap_or_default();
        if let Err(error) = answer_bell(&state, &message).await {
            tracing::error!(
                message_id = id,
                ?error,
                "dispatch failed; the bell rings again"
            );
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = id;
            response.batch_item_failures.push(failure);
        }
    }
    Ok(response)
}

async fn answer_bell(state: &State, message: &SqsMessage) -> Result<(), Error> {
    let body = message.body.as_deref().unwrap_or_default();
    let bell: Doorbell =
        serde_json::from_str(body).map_err(|e| Error::internal(format!("not a doorbell: {e}")))?;
    // Boxed: the calls below are deep, and the compiler lays out futures whole.
    Box::pin(fill_slots(state, &bell.org_id)).await
}

/// Gives free slots to waiting entries until one of both runs out.
///
/// # Errors
/// Internal, when a call fails.
pub async fn fill_slots(state: &State, org: &OrgId) -> Result<(), Error> {
    for _ in 0..MAX_DISPATCHES {
        let queue = state.store.queue(org).await?;
        let Some(entry) = next(&queue, state.limits) else {
            return Ok(());
        };
        let now = state.clock.now();
        let lease = Lease::new(
            org,
            &entry.run_id,
            &entry.work_order_id,
            state.mint.secret(),
            now,
        );
        if state
            .store
            .dispatch(&queue, entry, &lease, state.limits, now)
            .await?
            == Dispatched::Yes
        {
            tracing::info!(%org, run = %entry.run_id, tenant = entry.waiting().tenant, "dispatched");
            start_task(&state.store, &state.compute, &lease, now).await?;
        }
    }
    state.queue.ring(org).await
}

/// The entry whose turn it is, if there is a slot for it.
fn next(queue: &QueueState, limits: QueueLimits) -> Option<&EntryItem> {
    if queue.tally.free_slots(limits) <= 0 {
        return None;
    }
    let waiting: Vec<Waiting> = queue.entries.iter().map(EntryItem::waiting).collect();
    let head = *fair_order(&waiting, queue.tally.last_served.as_deref()).first()?;
    queue
        .entries
        .iter()
        .find(|entry| entry.work_order_id == head.work_order_id)
}
