//! The queue as a client sees it: a work order's position, from parallel reads, which therefore see
//! slightly different moments.

use awo_domain::queue::{
    EntryState, Load, MAX_QUEUE_SIZE, RUNS_LOOKED_BACK_ON, WaitingEntry, estimated_start,
    fair_order,
};
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, OrgId, Resource, RunId, Timestamp, WorkOrderId};
use serde::Deserialize;

use crate::Store;
use crate::engine::key::{leases, queue, usage_records};
use crate::engine::list::Slice;
use crate::queue::tally::{QueueLimits, Tally};
use crate::runs::lifecycle::dispatch::EntryItem;
use crate::work_orders::WorkOrder;

/// Most leases that are read: more than any organization has slots.
const MAX_LEASES: u32 = 1_000;
/// How often the queue is read again when a work order changed between the reads.
const READS: u32 = 4;

/// Where a work order stands in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// From 1 in the order in which entries will be taken; 0 once it has a slot.
    pub position: u32,
    /// Whether it waits, runs, or is about to leave.
    pub state: EntryState,
    /// When it came into the queue.
    pub enqueued_at: Timestamp,
    /// When it may start, while it waits for a slot.
    pub estimated_start: Option<Timestamp>,
    /// True if it waits for a budget.
    pub waits_for_budget: bool,
    /// True if it waits for another turn of its thread.
    pub waits_for_thread: bool,
}

/// What the queue needs to know of a lease.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TakenSlot {
    run_id: RunId,
    work_order_id: WorkOrderId,
    /// Absent where the lease is older than this attribute; then the run came when it was made.
    enqueued_at: Option<Timestamp>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PastRun {
    duration_ms: i64,
}

/// What one reading found.
struct Reading {
    tally: Tally,
    entries: Vec<EntryItem>,
    slots: Vec<TakenSlot>,
    order: Option<WorkOrder>,
    past: Vec<PastRun>,
    waits_for_thread: bool,
}

impl Tally {
    /// What the queue holds and may hold, by the organization's own limits or these.
    #[must_use]
    pub fn load(&self, limits: QueueLimits) -> Load {
        let count = |number: i64| u32::try_from(number.max(0)).unwrap_or(u32::MAX);
        Load {
            running: count(self.slots),
            waiting: count(self.waiting),
            max_concurrent: self.max_concurrent.unwrap_or(limits.max_concurrent),
            max_queue_size: self.max_queue_size.unwrap_or(limits.max_queue_size),
            is_held: self.is_held(),
        }
    }
}

impl Store {
    /// Where a work order stands.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it is not in the queue, or internal.
    pub async fn queue_position(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
        limits: QueueLimits,
        now: Timestamp,
    ) -> Result<Position, Error> {
        for _ in 0..READS {
            let reading = self.read_position(org, id).await?;
            if let Some(position) = reading.position(id, limits, now) {
                return Ok(position);
            }
            if !reading.missed_a_transition() {
                break;
            }
        }
        Err(Error::NotFound(Resource::QueueEntry))
    }

    async fn read_position(&self, org: &OrgId, id: &WorkOrderId) -> Result<Reading, Error> {
        let entries = Slice::of_partition(queue(org)).limit(MAX_QUEUE_SIZE);
        let slots = Slice::of_partition(leases(org)).limit(MAX_LEASES);
        let past = Slice::of_partition(usage_records(org))
            .newest_first()
            .limit(RUNS_LOOKED_BACK_ON);
        let (tally, entries, slots, order, past) = tokio::try_join!(
            self.tally(org),
            self.slice(entries),
            self.slice(slots),
            self.work_order(org, id),
            self.slice(past),
        )?;
        let waits_for_thread = self.waits_for_thread(org, id, &entries.items).await?;
        Ok(Reading {
            waits_for_thread,
            tally,
            entries: entries.items,
            slots: slots.items,
            order,
            past: past.items,
        })
    }
}

impl Store {
    /// True if this work order waits for another turn of its thread.
    async fn waits_for_thread(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
        entries: &[EntryItem],
    ) -> Result<bool, Error> {
        let Some(entry) = entries.iter().find(|entry| entry.work_order_id == *id) else {
            return Ok(false);
        };
        if entry.is_behind_its_thread(entries) {
            return Ok(true);
        }
        let free = self.free_thread(org, entry.thread_id(), Some(&entry.run_id));
        Ok(free.await?.is_none())
    }
}

impl Reading {
    fn position(&self, id: &WorkOrderId, limits: QueueLimits, now: Timestamp) -> Option<Position> {
        let order = self.order.as_ref()?;
        let status = order.status;
        let entry = self.entries.iter().find(|e| e.work_order_id == *id);
        let slot = self.slots.iter().find(|s| {
            // The slot of an earlier run, whose compute still stops, does not count for a newer one.
            s.work_order_id == *id && (status.is_terminal() || s.run_id == order.run_id)
        });
        match (slot, entry) {
            (Some(_), _) if status == WorkOrderStatus::WaitingForChildren => None,
            (Some(slot), entry) => Some(Position {
                position: 0,
                state: if status.is_terminal() {
                    EntryState::Completed
                } else {
                    EntryState::Running
                },
                enqueued_at: entry
                    .map(|e| e.enqueued_at)
                    .or(slot.enqueued_at)
                    .unwrap_or_else(|| slot.run_id.made_at()),
                estimated_start: None,
                waits_for_budget: false,
                waits_for_thread: false,
            }),
            (None, Some(entry)) => Some(self.position_of(entry, limits, now)),
            (None, None) => None,
        }
    }

    fn position_of(&self, entry: &EntryItem, limits: QueueLimits, now: Timestamp) -> Position {
        let waiting: Vec<WaitingEntry> = self.entries.iter().map(EntryItem::waiting).collect();
        let order = fair_order(&waiting, self.tally.last_served.as_deref());
        let before = order
            .iter()
            .take_while(|other| other.work_order_id != entry.work_order_id)
            .count();
        let position = u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1);
        let durations: Vec<i64> = self.past.iter().map(|run| run.duration_ms).collect();
        let slots = self.tally.load(limits).max_concurrent;
        let waits_for_budget = entry.wanted.is_some();
        Position {
            position,
            state: EntryState::Waiting,
            enqueued_at: entry.enqueued_at,
            estimated_start: (!waits_for_budget && !self.waits_for_thread)
                .then(|| estimated_start(now, position, slots, &durations)),
            waits_for_budget,
            waits_for_thread: self.waits_for_thread,
        }
    }

    /// True if the work order must be in the queue: it left one place before that was read, and
    /// entered the other after that was read.
    fn missed_a_transition(&self) -> bool {
        self.order.as_ref().is_some_and(|order| {
            let apart = order.status == WorkOrderStatus::WaitingForChildren;
            !order.status.is_terminal() && (!apart || order.sealed_at.is_some())
        })
    }
}
