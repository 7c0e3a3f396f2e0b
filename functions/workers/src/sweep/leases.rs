//! Leases whose time has come: a task that was never asked for, a runner that stopped reporting, compute that
//! should be gone.

use awo_cloud::compute::TaskState;
use awo_domain::{Error, OrgId, RunId, Timestamp};
use awo_execution::start_task::start_task;
use awo_store::runs::lifecycle::lease::{Lease, START_MS, STOPPING_MS};

use super::State;

/// The index may be seconds old, and this sweep may have worked for a minute since it read it: the lease
/// itself is read, and judged as it is.
pub(super) async fn overdue(state: &State, org: &OrgId, run: &RunId) -> Result<(), Error> {
    let lease = state.store.lease(org, run).await?;
    let now = state.clock.now();
    let Some(lease) = lease.filter(|lease| lease.due_at <= now.epoch_ms()) else {
        return Ok(());
    };
    // Not every report moves the deadline.
    match lease.later_deadline(now) {
        Some(later) => state.store.postpone_lease(&lease, later).await,
        None => overdue_lease(state, &lease, now).await,
    }
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
    let mut task_arn = compute.find_task(org, token).await?;
    for family in state.launcher.families(lease) {
        if task_arn.is_none() {
            task_arn = compute.find_stopped_task(&family, org, token).await?;
        }
    }
    Ok(task_arn)
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
