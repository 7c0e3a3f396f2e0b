//! The sweep, once a minute: repairs whatever is past its deadline. It makes lost messages, lost
//! responses and crashes harmless.

mod costs;
mod definitions;
mod ledgers;
mod notifications;

use std::sync::Arc;
use std::time::{Duration, Instant};

use awo_cloud::compute::{Compute, TaskState};
use awo_cloud::notifications::NotificationQueue;
use awo_cloud::queue::{RunQueue, WakeUp};
use awo_cloud::{Clock, Cloud, SetupError, settings};
use awo_domain::money::MicroCredits;
use awo_domain::{Error, OrgId, Timestamp};
use awo_execution::endings::Endings;
use awo_execution::launcher::Launcher;
use awo_execution::start_task::start_task;
use awo_execution::stopper::Stopper;
use awo_execution::verifier::Verifier;
use awo_store::Store;
use awo_store::runs::lifecycle::lease::{Lease, START_MS, STOPPING_MS};
use awo_store::runs::lifecycle::suspend::WaitingOrder;
use awo_store::sweep::Due;
use awo_store::work_orders::cascades::Cascade;
use serde::{Deserialize, Serialize};

use crate::{Worker, worker};

/// Most due items of a shard in one sweep; the next one takes the rest.
const MAX_DUE: u32 = 500;

/// Most purges of which one sweep deletes what is left, and how long it begins with another one:
/// what lives comes first.
const MAX_PURGES: u32 = 200;
const ERASING: Duration = Duration::from_secs(30);

/// The state of the function.
#[derive(Debug, Clone)]
pub struct State {
    store: Store,
    compute: Compute,
    launcher: Launcher,
    queue: RunQueue,
    notifications: NotificationQueue,
    clock: Clock,
    endings: Endings,
    verifier: Verifier,
    stopper: Stopper,
    credits_per_usd: MicroCredits,
}

/// The schedule's event; nothing of it matters.
#[derive(Debug, Default, Deserialize)]
pub struct Tick {}

/// The counts of a sweep.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SweepReport {
    /// Items that were due.
    pub due: u32,
    /// Of these, how many could not be handled; the next sweep tries again.
    pub failed: u32,
}

/// The function `sweep`.
///
/// # Errors
/// When a setting is missing or does not read.
pub fn function(cloud: &Cloud) -> Result<Worker, SetupError> {
    Ok(worker(cloud, state(cloud)?, handle))
}

/// The state of `sweep`.
///
/// # Errors
/// When a setting is missing.
pub fn state(cloud: &Cloud) -> Result<State, SetupError> {
    Ok(State {
        store: cloud.store()?,
        compute: cloud.compute()?,
        launcher: Launcher::new(cloud)?,
        queue: cloud.run_queue()?,
        notifications: cloud.notification_queue()?,
        clock: cloud.clock.clone(),
        endings: Endings::new(cloud)?,
        verifier: Verifier::new(cloud)?,
        stopper: Stopper::new(cloud)?,
        credits_per_usd: settings::rates(&cloud.environment)?.credits_per_usd,
    })
}

/// Sweeps once. One item that fails does not keep the others from being handled.
///
/// # Errors
/// When what is due cannot be read.
pub async fn handle(state: Arc<State>, _: Tick) -> Result<SweepReport, lambda_runtime::Error> {
    let now = state.clock.now();
    let due = state.store.due(now, MAX_DUE).await.map_err(|error| {
        tracing::error!(
            event = "sweep_query_failed",
            ?error,
            "the sweep could not query what is due"
        );
        lambda_runtime::Error::from("the sweep cannot see what is due")
    })?;
    let mut swept = SweepReport {
        due: u32::try_from(due.len()).unwrap_or(u32::MAX),
        failed: 0,
    };
    for item in due {
        let handled = match &item {
            Due::Queue(org) => waiting_queue(&state, org, now).await,
            Due::Lease(lease) => Box::pin(lease_of_index(&state, lease)).await,
            Due::Verification(of) => state.verifier.handle(of, now).await,
            Due::Waiting(order) => waiting_order(&state, order, now).await,
            Due::Cascade(cascade) => cascade_of_index(&state, cascade).await,
        };
        if let Err(error) = handled {
            tracing::error!(
                event = "sweep_item_failed",
                ?item,
                ?error,
                "the sweep could not handle an item"
            );
            swept.failed += 1;
        }
    }
    notifications::send_again(&state, now, &mut swept).await;
    erase_purged(&state, now, &mut swept).await;
    definitions::check_due(&state, now, &mut swept).await;
    costs::note_price(&state, now, &mut swept).await;
    // Boxed: the calls below are deep, and the compiler lays out futures whole.
    Box::pin(costs::add(&state, now, &mut swept)).await;
    Box::pin(ledgers::check(&state.store, now, &mut swept)).await;
    tracing::info!(
        event = "swept",
        due = swept.due,
        failed = swept.failed,
        "swept"
    );
    Ok(swept)
}

/// Deletes what purges have left.
async fn erase_purged(state: &State, now: Timestamp, swept: &mut SweepReport) {
    let began = Instant::now();
    let purges = match state.store.due_purges(now, MAX_PURGES).await {
        Ok(purges) => purges,
        Err(error) => {
            tracing::error!(
                event = "sweep_purges_query_failed",
                ?error,
                "the sweep could not query what purges have left"
            );
            swept.failed += 1;
            return;
        }
    };
    for purge in purges.iter().take_while(|_| began.elapsed() < ERASING) {
        swept.due += 1;
        if let Err(error) = state.store.erase(purge).await {
            tracing::error!(
                event = "sweep_purge_failed",
                ?purge,
                ?error,
                "the sweep could not delete what a purge left"
            );
            swept.failed += 1;
        }
    }
}

async fn waiting_queue(state: &State, org: &OrgId, now: Timestamp) -> Result<(), Error> {
    state.queue.wake(&WakeUp::of(org)).await?;
    state.store.postpone_wake_up(org, now).await
}

async fn waiting_order(state: &State, order: &WaitingOrder, now: Timestamp) -> Result<(), Error> {
    let (org, id) = (&order.org_id, &order.work_order_id);
    Box::pin(state.endings.wake_parent(org, id, now)).await?;
    state.store.postpone_children(order, now).await
}

/// The index may be seconds old, and this sweep may have worked for a minute since it read it: the lease
/// itself is read, and judged as it is.
async fn lease_of_index(state: &State, seen: &Lease) -> Result<(), Error> {
    let lease = state.store.lease(&seen.org_id, &seen.run_id).await?;
    let now = state.clock.now();
    match lease.filter(|lease| lease.due_at <= now.epoch_ms()) {
        Some(lease) => overdue_lease(state, &lease, now).await,
        None => Ok(()),
    }
}

/// A stop that was applied to all children since the index was written is done.
async fn cascade_of_index(state: &State, seen: &Cascade) -> Result<(), Error> {
    let (org, id) = (&seen.org_id, &seen.work_order_id);
    if let Some(cascade) = state.store.cascade(org, id).await? {
        state.stopper.cascade(cascade).await;
    }
    Ok(())
}

async fn overdue_lease(state: &State, lease: &Lease, now: Timestamp) -> Result<(), Error> {
    if lease.dead_at.is_some() && state.stopper.reported_dead(lease).await? {
        return Ok(());
    }
    let task_arn = match &lease.task_arn {
        Some(task_arn) => Some(task_arn.clone()),
        None if may_be_asked_for(lease, now) => {
            return start_task(&state.store, &state.compute, &state.launcher, lease, now).await;
        }
        // Its start was never noted, or it never started: ECS knows.
        None => find_task(state, lease).await?,
    };
    let Some(task_arn) = task_arn else {
        return state.endings.never_started(lease, now).await;
    };
    match state.compute.describe_task(&task_arn).await? {
        TaskState::Gone(gone) => state.endings.compute_gone(lease, &gone, now).await,
        TaskState::Alive(started) => {
            state.endings.note_started(lease, &started, now).await?;
            lives_on(state, lease, &task_arn, now).await
        }
    }
}

async fn find_task(state: &State, lease: &Lease) -> Result<Option<String>, Error> {
    let (compute, org, token) = (&state.compute, &lease.org_id, &lease.client_token);
    let mut found = compute.find_task(org, token).await?;
    for family in state.launcher.families(lease) {
        if found.is_none() {
            found = compute.find_stopped_task(&family, org, token).await?;
        }
    }
    Ok(found)
}

/// A task that should not run any more is stopped, as often as it takes; its run ends
/// before it where that can wait no longer.
async fn lives_on(
    state: &State,
    lease: &Lease,
    task_arn: &str,
    now: Timestamp,
) -> Result<(), Error> {
    match (lease.stop_request, lease.kill_given_up_at()) {
        (None, _) if lease.closed_at.is_none() && lease.may_be_silent(now) => {
            tracing::warn!(event = "runner_silent", run = %lease.run_id, since = ?lease.suspected_at, "the runner stopped sending heartbeats");
            return state.store.suspect(lease, now).await;
        }
        // It has reported since.
        (None, _) if !state.endings.silent(lease, now).await? => return Ok(()),
        (Some(_), Some(given_up_at)) if now >= given_up_at => {
            let due_at = Some(lease.due_at);
            state.endings.kill_not_confirmed(lease, due_at, now).await?;
        }
        _ => {}
    }
    state.compute.stop_task(task_arn, "the run is over").await?;
    let lease = as_it_is(state, lease).await?;
    state
        .store
        .postpone_lease(&lease, now.plus_ms(STOPPING_MS))
        .await
}

/// True while the nonce is unclaimed and there is time: asking again is asking for the same task.
fn may_be_asked_for(lease: &Lease, now: Timestamp) -> bool {
    lease.nonce.is_some() && lease.closed_at.is_none() && now.ms_since(lease.leased_at) < START_MS
}

/// The lease as it is now: ending the run has changed its deadline.
async fn as_it_is(state: &State, lease: &Lease) -> Result<Lease, Error> {
    Ok(state
        .store
        .lease(&lease.org_id, &lease.run_id)
        .await?
        .unwrap_or_else(|| lease.clone()))
}
