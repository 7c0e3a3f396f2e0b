//! Slots for waiting entries: while an organization has a free slot, and the deployment a place
//! for one more task, the next entry in fair order takes both. What must not be lost is in the
//! tables: an entry waits until it is dispatched, a dispatched run has a lease, and a lease
//! without a task is asked for again.

use awo_cloud::compute::Compute;
use awo_cloud::queue::RunQueue;
use awo_cloud::{Clock, Cloud, Mint, SetupError, settings};
use awo_domain::queue::{Waiting, fair_order};
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use awo_store::Store;
use awo_store::dispatch::{Dispatched, EntryItem, QueueState};
use awo_store::lease::Lease;
use awo_store::places::{FreePlace, MaxTasks, NO_ROOM};
use awo_store::tally::QueueLimits;

use crate::launcher::Launcher;
use crate::start_task::start_task;

/// Most dispatches for one bell; what is left gets a new one.
const MAX_DISPATCHES: u32 = 25;

/// Most organizations that one bell lets hear of places that are free.
const MAX_RUNG: usize = 10;

/// Gives slots away.
#[derive(Debug, Clone)]
pub struct Dispatcher {
    pub store: Store,
    pub compute: Compute,
    pub launcher: Launcher,
    pub queue: RunQueue,
    pub clock: Clock,
    pub mint: Mint,
    pub limits: QueueLimits,
    pub max_tasks: MaxTasks,
}

impl Dispatcher {
    /// A dispatcher as the environment says.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn new(cloud: &Cloud) -> Result<Dispatcher, SetupError> {
        Ok(Dispatcher {
            store: cloud.store()?,
            compute: cloud.compute()?,
            launcher: Launcher::new(cloud)?,
            queue: cloud.run_queue()?,
            clock: cloud.clock.clone(),
            mint: cloud.mint.clone(),
            limits: settings::queue_limits(&cloud.environment)?,
            max_tasks: settings::max_tasks(&cloud.environment)?,
        })
    }

    /// Gives free slots to waiting entries until one of both runs out.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn fill_slots(&self, org: &OrgId) -> Result<(), Error> {
        if self.fill(org, None).await? {
            return Ok(());
        }
        self.queue.ring(org).await
    }

    /// Gives free slots to the entries that come before this one. The entry itself, whether it
    /// waits already or not, is left to the caller.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn fill_slots_before(&self, org: &OrgId, last: &Waiting) -> Result<(), Error> {
        self.fill(org, Some(last)).await.map(|_| ())
    }

    /// False if there may be more to give away.
    async fn fill(&self, org: &OrgId, last: Option<&Waiting>) -> Result<bool, Error> {
        for _ in 0..MAX_DISPATCHES {
            let queue = self.store.queue(org).await?;
            let now = self.clock.now();
            let Some(entry) = next(&queue, self.limits, last) else {
                if last.is_none() {
                    // Boxed: the calls below are deep, and the compiler lays out futures whole.
                    Box::pin(self.let_others_go(org, now)).await?;
                }
                return Ok(true);
            };
            let Some(place) = Box::pin(self.place(org, &entry.run_id, now)).await? else {
                // Its bell rings again, and who stands in line is served in turn.
                return Ok(true);
            };
            let lease = Lease::of_entry(org, entry, self.mint.secret(), now);
            let dispatched = self
                .store
                .dispatch(&queue, entry, (&lease, &place), self.limits, now);
            if dispatched.await? == Dispatched::Yes {
                tracing::info!(%org, run = %entry.run_id, tenant = entry.waiting().tenant, "dispatched");
                self.start(&lease, now).await?;
            }
        }
        Ok(false)
    }

    /// A place for the task of a run, if the deployment has room for it and it is the
    /// organization's turn. If not, it stands in line from now on, and whose turn it is hears of it.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn place(
        &self,
        org: &OrgId,
        run: &RunId,
        now: Timestamp,
    ) -> Result<Option<FreePlace>, Error> {
        let near = run.as_str();
        let room = self.store.room(org, near, self.max_tasks, now).await?;
        if room.place.is_none() {
            tracing::warn!(%org, max = self.max_tasks.get(), "{NO_ROOM}");
            self.store.stand_in_line(org, now).await?;
            self.ring_for(&room.others).await;
        }
        Ok(room.place)
    }

    /// Nothing of an organization is to be dispatched now: it does not stand in line any more, and
    /// a place that it may have given back is for others.
    async fn let_others_go(&self, org: &OrgId, now: Timestamp) -> Result<(), Error> {
        let near = org.as_str();
        let room = self.store.room(org, near, self.max_tasks, now).await?;
        if room.in_line {
            self.store.leave_line(org).await?;
        }
        self.ring_for(&room.others).await;
        Ok(())
    }

    async fn ring_for(&self, others: &[OrgId]) {
        for org in others.iter().take(MAX_RUNG) {
            self.queue.ring_or_leave_to_sweep(org).await;
        }
    }

    async fn start(&self, lease: &Lease, now: Timestamp) -> Result<(), Error> {
        start_task(&self.store, &self.compute, &self.launcher, lease, now).await
    }

    /// Asks for the task of a run that has its slot, and is content if that fails: the sweep
    /// asks again.
    pub async fn start_or_leave_to_sweep(&self, lease: &Lease, now: Timestamp) {
        if let Err(error) = self.start(lease, now).await {
            tracing::warn!(run = %lease.run_id, ?error, "no task was asked for; the sweep asks");
        }
    }
}

/// The entry whose turn it is, if there is a slot for it and it comes before `last`.
fn next<'a>(
    queue: &'a QueueState,
    limits: QueueLimits,
    last: Option<&Waiting>,
) -> Option<&'a EntryItem> {
    if queue.tally.free_slots(limits) <= 0 {
        return None;
    }
    let first = first_in_turn(queue, last)?;
    let is_first = |entry: &&EntryItem| entry.work_order_id == first;
    let is_last = last.is_some_and(|last| last.work_order_id == first);
    queue.entries.iter().find(is_first).filter(|_| !is_last)
}

/// The work order whose turn it is; `with` takes part, whether it waits already or not.
#[must_use]
pub fn first_in_turn(queue: &QueueState, with: Option<&Waiting>) -> Option<WorkOrderId> {
    let others = queue
        .entries
        .iter()
        .filter(|entry| with.is_none_or(|with| with.work_order_id != entry.work_order_id));
    let mut waiting: Vec<Waiting> = others.map(EntryItem::waiting).collect();
    waiting.extend(with.cloned());
    let turns = fair_order(&waiting, queue.tally.last_served.as_deref());
    turns.first().map(|first| first.work_order_id.clone())
}
