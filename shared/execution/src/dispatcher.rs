//! Slots for waiting entries: while an organization has a free slot, and the deployment a capacity
//! permit, the next entry in fair order takes both. All state is in the tables: an entry waits
//! until it is dispatched, a dispatched run has a lease, and the task of a lease without one is
//! requested again. The tasks of one pass are requested in parallel: RunTask takes far longer than
//! a dispatch.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use awo_cloud::compute::Compute;
use awo_cloud::queue::{RunQueue, WakeUp};
use awo_cloud::{Clock, Cloud, Mint, SetupError, settings};
use awo_domain::queue::{WaitingEntry, fair_order};
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use awo_store::Store;
use awo_store::capacity::permits::{AT_TASK_LIMIT, FreePermit, MaxTasks};
use awo_store::queue::tally::QueueLimits;
use awo_store::runs::lifecycle::dispatch::{DispatchOutcome, EntryItem, QueueState};
use awo_store::runs::lifecycle::lease::Lease;
use awo_store::work_orders::WorkOrder;
use awo_store::work_orders::threads::FreeThread;
use tokio::task::JoinSet;

use crate::launcher::Launcher;
use crate::start_task::start_task;

/// How long a pass over a queue goes on; what is left gets a new wake-up. The function has twice as long, and more.
pub const FILLING: Duration = Duration::from_secs(40);

/// Most dispatches for one wake-up; what is left gets a new one.
const MAX_DISPATCHES: u32 = 25;

/// Most organizations that one wake-up notifies of free permits.
const MAX_RUNG: usize = 10;

/// How a pass over a queue ended.
enum PassOutcome {
    /// No slot is free, or nothing waits for one.
    AsFarAsItGoes,
    /// An entry and its slot wait for capacity of the deployment.
    NoCapacity,
    /// It assigned as many slots as one pass assigns.
    ThereMayBeMore,
}

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
    /// How long a pass over a queue goes on: [`FILLING`], unless a test shortens it.
    pub filling: Duration,
}

impl Dispatcher {
    /// A dispatcher by the environment's settings.
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
            filling: FILLING,
        })
    }

    /// Gives free slots to waiting entries until one of both runs out.
    ///
    /// Costs one read of the tally where there is nothing to give.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn fill_slots(&self, wake_up: &WakeUp) -> Result<(), Error> {
        let mut is_watched = false;
        let filled = self.fill(&wake_up.org_id, None, &mut is_watched).await?;
        if is_watched {
            self.alert_or_leave_to_sweep(&wake_up.org_id).await;
        }
        match filled {
            PassOutcome::AsFarAsItGoes if wake_up.capacity => {
                // Boxed: the calls below are deep, and the compiler lays out futures whole.
                Box::pin(self.let_others_go(&wake_up.org_id)).await
            }
            PassOutcome::AsFarAsItGoes | PassOutcome::NoCapacity => Ok(()),
            PassOutcome::ThereMayBeMore => self.queue.wake(wake_up).await,
        }
    }

    /// Gives free slots to the entries that come before this one. The entry itself, whether it
    /// waits already or not, is left to the caller.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn fill_slots_before(&self, org: &OrgId, last: &WaitingEntry) -> Result<(), Error> {
        self.fill(org, Some(last), &mut false).await.map(|_| ())
    }

    /// Notes whether the organization may have to be alerted of something.
    async fn fill(
        &self,
        org: &OrgId,
        last: Option<&WaitingEntry>,
        is_watched: &mut bool,
    ) -> Result<PassOutcome, Error> {
        // Those that have a slot get their tasks, whatever becomes of the rest.
        let mut starts = JoinSet::new();
        let filled = Box::pin(self.give_slots(org, last, &mut starts, is_watched)).await;
        let mut started = Ok(());
        while let Some(start) = starts.join_next().await {
            let start = start.unwrap_or_else(|why| Err(Error::internal(why)));
            started = started.and(start);
        }
        let filled = filled?;
        started.map(|()| filled)
    }

    async fn give_slots(
        &self,
        org: &OrgId,
        last: Option<&WaitingEntry>,
        starts: &mut JoinSet<Result<(), Error>>,
        is_watched: &mut bool,
    ) -> Result<PassOutcome, Error> {
        let (began, mut entries) = (Instant::now(), Vec::new());
        let mut has_funded = false;
        let mut blocked = HashSet::new();
        for _ in 0..MAX_DISPATCHES {
            if began.elapsed() > self.filling {
                break;
            }
            let tally = self.store.tally(org).await?;
            *is_watched = tally.watched && !tally.no_webhooks;
            let has_slot = tally.free_slots(self.limits) > 0;
            // Budgets may cover what waits for them, whether there is a slot or not.
            if tally.waiting <= 0 || !(has_slot || tally.watched) {
                return Ok(PassOutcome::AsFarAsItGoes);
            }
            // What is left of an earlier reading is the queue as long as it has as many entries.
            // The dispatch is conditional on the entry and on the tenant that was served last.
            if i64::try_from(entries.len()) != Ok(tally.waiting) {
                entries = self.store.entries(org).await?;
            }
            let mut queue = QueueState { tally, entries };
            if !std::mem::replace(&mut has_funded, true) {
                self.fund(org, &mut queue).await?;
            }
            if !has_slot {
                return Ok(PassOutcome::AsFarAsItGoes);
            }
            let Some((nth, thread)) = self.next(org, &queue, last, &mut blocked).await? else {
                return Ok(PassOutcome::AsFarAsItGoes);
            };
            let entry = &queue.entries[nth];
            let now = self.clock.now();
            let Some(permit) = Box::pin(self.free_permit(org, &entry.run_id, now)).await? else {
                // The sweep wakes the organization again, and capacity goes in turn.
                return Ok(PassOutcome::NoCapacity);
            };
            let lease = Lease::of_entry(org, entry, self.mint.secret(), now);
            let taken = (&lease, &permit, &thread);
            let dispatched = self.store.dispatch(&queue, entry, taken, self.limits, now);
            let dispatched = dispatched.await?;
            if dispatched == DispatchOutcome::Yes {
                tracing::info!(event = "dispatched", %org, run = %entry.run_id, tenant = entry.waiting().tenant, "dispatched");
                let dispatcher = self.clone();
                starts.spawn(async move { dispatcher.start(&lease, now).await });
            }
            entries = queue.entries;
            match dispatched {
                DispatchOutcome::Yes => drop(entries.remove(nth)),
                DispatchOutcome::Lost => {
                    entries.clear();
                    blocked.clear();
                }
            }
        }
        Ok(PassOutcome::ThereMayBeMore)
    }

    /// The thread of a work order of which a run is started, if that may take it now: no other run has it,
    /// and no other turn waits for it.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn thread_of(
        &self,
        queue: &QueueState,
        org: &OrgId,
        order: &WorkOrder,
    ) -> Result<Option<FreeThread>, Error> {
        let id = order.thread_id();
        let ours = |entry: &&EntryItem| entry.work_order_id == order.id;
        let others = |entry: &&EntryItem| entry.thread_id() == id && !ours(entry);
        let is_behind = match queue.entries.iter().find(ours) {
            Some(entry) => entry.is_behind_its_thread(&queue.entries),
            None => queue.entries.iter().any(|entry| others(&entry)),
        };
        if is_behind {
            return Ok(None);
        }
        // The run that waits is replaced; one that failed may still be stopping.
        let own = (order.status == WorkOrderStatus::Queued).then_some(&order.run_id);
        self.store.free_thread(org, id, own).await
    }

    /// The entry whose turn it is, if it comes before `last`, with its thread. Entries whose threads other
    /// runs have are `blocked`: they keep their places, and others go.
    async fn next(
        &self,
        org: &OrgId,
        queue: &QueueState,
        last: Option<&WaitingEntry>,
        blocked: &mut HashSet<WorkOrderId>,
    ) -> Result<Option<(usize, FreeThread)>, Error> {
        loop {
            let Some(first) = first_in_turn(queue, last, blocked) else {
                return Ok(None);
            };
            if last.is_some_and(|last| last.work_order_id == first) {
                return Ok(None);
            }
            let mut entries = queue.entries.iter();
            let Some(nth) = entries.position(|entry| entry.work_order_id == first) else {
                return Ok(None);
            };
            let entry = &queue.entries[nth];
            let free = self
                .store
                .free_thread(org, entry.thread_id(), Some(&entry.run_id));
            match free.await? {
                Some(thread) => return Ok(Some((nth, thread))),
                None => blocked.insert(first),
            };
        }
    }

    /// Reserves the credits of entries that waited for a budget and now fit.
    async fn fund(&self, org: &OrgId, queue: &mut QueueState) -> Result<(), Error> {
        let now = self.clock.now();
        for id in self.store.fundable(org, queue, now).await? {
            let entry = queue.entries.iter_mut().find(|e| e.work_order_id == id);
            if let Some(entry) = entry
                && self.store.fund(org, entry, now).await?
            {
                tracing::info!(event = "budget_covers_waiting_run", %org, run = %entry.run_id, "a budget covers a run that waited for it");
                entry.wanted = None;
            }
        }
        Ok(())
    }

    async fn alert_or_leave_to_sweep(&self, org: &OrgId) {
        if let Err(error) = self.store.alert(org, self.clock.now()).await {
            tracing::warn!(event = "alert_failed", %org, ?error, "an organization was not alerted; the sweep does it");
        }
    }

    /// A capacity permit for the task of a run, if one is free and it is the organization's turn. If not,
    /// the organization is a capacity waiter from now on, and the one whose turn it is is woken.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn free_permit(
        &self,
        org: &OrgId,
        run: &RunId,
        now: Timestamp,
    ) -> Result<Option<FreePermit>, Error> {
        let near = run.as_str();
        let available = self.store.capacity(org, near, self.max_tasks, now).await?;
        if available.permit.is_none() {
            tracing::warn!(event = "task_limit", %org, max = self.max_tasks.get(), "{AT_TASK_LIMIT}");
            self.store.add_capacity_waiter(org, now).await?;
            self.wake_others(&available.others).await;
        }
        Ok(available.permit)
    }

    /// Nothing of an organization is to be dispatched now: it is no capacity waiter any more, and
    /// a permit that it may have returned is for others.
    async fn let_others_go(&self, org: &OrgId) -> Result<(), Error> {
        let (near, now) = (org.as_str(), self.clock.now());
        let mut available = self.store.capacity(org, near, self.max_tasks, now).await?;
        if available.is_waiting {
            self.store.remove_capacity_waiter(org).await?;
            // What was for it is for the next one.
            available = self.store.capacity(org, near, self.max_tasks, now).await?;
        }
        self.wake_others(&available.others).await;
        Ok(())
    }

    async fn wake_others(&self, others: &[OrgId]) {
        for org in others.iter().take(MAX_RUNG) {
            let wake_up = WakeUp::for_capacity(org);
            self.queue.wake_or_leave_to_sweep(&wake_up).await;
        }
    }

    async fn start(&self, lease: &Lease, now: Timestamp) -> Result<(), Error> {
        start_task(&self.store, &self.compute, &self.launcher, lease, now).await
    }

    /// Asks for the task of a run that has its slot, and is content if that fails: the sweep
    /// asks again.
    pub async fn start_or_leave_to_sweep(&self, lease: &Lease, now: Timestamp) {
        if let Err(error) = self.start(lease, now).await {
            tracing::warn!(event = "task_not_requested", run = %lease.run_id, ?error, "no task was requested; the sweep requests it");
        }
    }
}

/// The work order whose turn it is; `with` takes part, whether it waits already or not. Those that wait
/// for a budget or for their threads do not: of a thread only the first entry can go.
#[must_use]
pub fn first_in_turn(
    queue: &QueueState,
    with: Option<&WaitingEntry>,
    blocked: &HashSet<WorkOrderId>,
) -> Option<WorkOrderId> {
    // With one entry a thread none is behind another; a queue may be long.
    let threads: HashSet<&WorkOrderId> = queue.entries.iter().map(EntryItem::thread_id).collect();
    let is_alone = threads.len() == queue.entries.len();
    let others = queue
        .entries
        .iter()
        .filter(|entry| entry.wanted.is_none() && !blocked.contains(&entry.work_order_id))
        .filter(|entry| with.is_none_or(|with| with.work_order_id != entry.work_order_id));
    let can_go = |entry: &&EntryItem| is_alone || !entry.is_behind_its_thread(&queue.entries);
    let mut waiting: Vec<WaitingEntry> = others.filter(can_go).map(EntryItem::waiting).collect();
    waiting.extend(with.cloned());
    let turns = fair_order(&waiting, queue.tally.last_served.as_deref());
    turns.first().map(|first| first.work_order_id.clone())
}
