//! Requests the task of a lease. A repeated request starts one task, because of the lease's client
//! token.

use awo_cloud::compute::{Compute, EcsError, TaskOutcome};
use awo_domain::{Error, Timestamp};
use awo_store::Store;
use awo_store::runs::lifecycle::lease::{Lease, NO_CAPACITY_MS, START_MS, UNASKED_MS};

use crate::launcher::Launcher;

/// Asks, and notes the task. Without capacity the lease stays and the sweep asks again; after a minute the run
/// gives slot and permit back and waits in the queue, which the sweep wakes.
pub async fn start_task(
    store: &Store,
    compute: &Compute,
    launcher: &Launcher,
    lease: &Lease,
    now: Timestamp,
) -> Result<(), Error> {
    let launch = match launcher.launch_of(lease).await {
        Ok(launch) => launch,
        Err(EcsError::Busy { reason }) => return wait(store, lease, &reason, now).await,
        Err(EcsError::Failed(error)) => return Err(error),
    };
    match compute.run_task(&launch, lease).await? {
        TaskOutcome::Started { task_arn } => {
            let due = lease.leased_at.plus_ms(START_MS);
            store
                .note_task(&lease.org_id, &lease.run_id, &task_arn, due)
                .await
        }
        TaskOutcome::NoDefinition => {
            let containers = lease.containers.as_ref();
            launcher.forget(&lease.org_id, containers).await?;
            store.postpone_lease(lease, now.plus_ms(UNASKED_MS)).await
        }
        TaskOutcome::NoCapacity { reason } => wait(store, lease, &reason, now).await,
    }
}

/// Leaves the request to the sweep, or the run to the queue if it has waited for a minute.
async fn wait(store: &Store, lease: &Lease, reason: &str, now: Timestamp) -> Result<(), Error> {
    let has_waited = now.ms_since(lease.leased_at) >= NO_CAPACITY_MS;
    if has_waited && store.wait_for_capacity(lease, now).await? {
        tracing::warn!(event = "no_capacity_requeued", run = %lease.run_id, reason, "no capacity for a task; the run waits in the queue again");
        return Ok(());
    }
    tracing::warn!(event = "no_capacity", run = %lease.run_id, reason, "no capacity for a task now; the sweep asks again");
    store.postpone_lease(lease, now.plus_ms(UNASKED_MS)).await
}
