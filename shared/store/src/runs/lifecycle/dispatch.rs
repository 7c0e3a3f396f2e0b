//! The queue's output: waiting entries in fair order, and the transaction that assigns a slot to
//! one of them.

use awo_domain::environment::{ContainersId, Size};
use awo_domain::event::Lifecycle;
use awo_domain::queue::{MAX_QUEUE_SIZE, WaitingEntry};
use awo_domain::run::{Phase, RunEvent, RunStatus};
use awo_domain::work_order::{WorkOrderEvent, WorkOrderStatus};
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::capacity::permits::FreePermit;
use crate::engine::change::Change;
use crate::engine::item::runs_with;
use crate::engine::key::{Key, queue};
use crate::engine::list::Slice;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::ledger::budgets::WantedHold;
use crate::queue::tally::{QueueLimits, Tally, WAKE_UP_MS};
use crate::runs::CREATED_SEQUENCE;
use crate::runs::lifecycle::lease::Lease;
use crate::runs::lifecycle::transitions::{after_order, after_run};
use crate::runs::timeline::Subject;
use crate::work_orders::threads::FreeThread;

/// A waiting entry as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryItem {
    /// The work order.
    pub work_order_id: WorkOrderId,
    /// The run that waits.
    pub run_id: RunId,
    /// The tenant's and the user's ids, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_context: Option<awo_domain::work_order::TenantContext>,
    /// When it came.
    pub enqueued_at: Timestamp,
    /// The size of its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// What its task has beside the deployment's own container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containers: Option<ContainersId>,
    /// The sequence of the run's newest event, if it had a slot before and comes back from its
    /// children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<u64>,
    /// The sequence of the run's newest event, if it gave a slot back and has not begun yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sequence: Option<u64>,
    /// How often it gave a slot back because there was no compute for it.
    #[serde(default)]
    pub came_back: u32,
    /// What is to be reserved for it, while it waits for a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<WantedHold>,
    /// The thread of the work order; of an entry that is older than threads, the work order itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<WorkOrderId>,
    /// Shape of this item.
    pub v: u32,
}

impl EntryItem {
    /// The thread of the work order.
    #[must_use]
    pub fn thread_id(&self) -> &WorkOrderId {
        self.thread.as_ref().unwrap_or(&self.work_order_id)
    }

    /// True if another entry of the same thread comes before this one.
    #[must_use]
    pub fn is_behind_its_thread(&self, entries: &[EntryItem]) -> bool {
        let place = |entry: &EntryItem| (entry.enqueued_at, entry.work_order_id.clone());
        let is_before = |other: &EntryItem| {
            other.work_order_id != self.work_order_id
                && other.thread_id() == self.thread_id()
                && place(other) < place(self)
        };
        entries.iter().any(is_before)
    }

    /// The entry as the fair order sees it.
    #[must_use]
    pub fn waiting(&self) -> WaitingEntry {
        WaitingEntry {
            work_order_id: self.work_order_id.clone(),
            enqueued_at: self.enqueued_at,
            tenant: self
                .tenant_context
                .as_ref()
                .map(|t| t.tenant_id.clone())
                .unwrap_or_default(),
            waits_for_budget: self.wanted.is_some(),
        }
    }
}

/// The state of a queue, from which the next entry is chosen.
#[derive(Debug)]
pub struct QueueState {
    /// Slots and turn.
    pub tally: Tally,
    /// Waiting entries, oldest first.
    pub entries: Vec<EntryItem>,
}

/// What a slot makes of an entry: the beginning of a run, or its return from its children.
struct Taking {
    run: (RunStatus, RunStatus),
    order: (WorkOrderStatus, WorkOrderStatus),
    last_sequence: u64,
    event: Lifecycle,
}

impl Taking {
    fn of(entry: &EntryItem) -> Result<Taking, Error> {
        let queued = (RunStatus::Queued, WorkOrderStatus::Queued);
        let waits = WorkOrderStatus::WaitingForChildren;
        Ok(match entry.resumes {
            None => Taking {
                run: (queued.0, after_run(queued.0, RunEvent::SlotTaken)?),
                order: (queued.1, after_order(queued.1, WorkOrderEvent::SlotTaken)?),
                last_sequence: entry.last_sequence.unwrap_or(CREATED_SEQUENCE),
                event: Lifecycle::Building,
            },
            Some(last_sequence) => Taking {
                run: (RunStatus::Running, RunStatus::Running),
                order: (waits, after_order(waits, WorkOrderEvent::ChildrenEnded)?),
                last_sequence,
                event: Lifecycle::Integrating,
            },
        })
    }

    fn run_change(&self, org: &OrgId, now: Timestamp) -> Change {
        let (from, to) = self.run;
        let change = Change::new()
            .set("status", to)
            .set("statusKey", runs_with(org, to))
            .set("lastSequence", self.last_sequence + 1)
            .when("status", from)
            .when("lastSequence", self.last_sequence);
        match self.event {
            Lifecycle::Integrating => change
                .set("phase", Phase::Integrating)
                .set("resumedAt", now)
                .when_missing("resumedAt"),
            _ => change.set("phase", Phase::Building).set("startedAt", now),
        }
    }
}

/// The outcome of a dispatch.
#[derive(Debug, PartialEq, Eq)]
pub enum DispatchOutcome {
    /// The run has the slot.
    Yes,
    /// Another dispatcher was faster, or there is no slot or permit any more: read the queue again.
    Lost,
}

impl Store {
    /// The queue as it is.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn queue(&self, org: &OrgId) -> Result<QueueState, Error> {
        let (tally, entries) = tokio::try_join!(self.tally(org), self.entries(org))?;
        Ok(QueueState { tally, entries })
    }

    /// The waiting entries, oldest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn entries(&self, org: &OrgId) -> Result<Vec<EntryItem>, Error> {
        let entries = Slice::of_partition(queue(org)).limit(MAX_QUEUE_SIZE);
        Ok(self.slice(entries).await?.items)
    }

    /// Gives an entry a slot, its task a permit and its run the thread: lease, permit, thread, entry, run, work order, tally and
    /// event in one transaction.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails; nothing was written then.
    pub async fn dispatch(
        &self,
        state: &QueueState,
        entry: &EntryItem,
        (lease, permit, thread): (&Lease, &FreePermit, &FreeThread),
        limits: QueueLimits,
        now: Timestamp,
    ) -> Result<DispatchOutcome, Error> {
        let org = &lease.org_id;
        let taking = Taking::of(entry)?;
        let waiting = entry.waiting();
        let (from, to) = taking.order;
        let order = Change::new().move_order(org, &entry.run_id, from, to);
        let tally = Change::new()
            .entry_left()
            .slot_taken(&waiting.tenant, state.tally.last_served.as_deref(), limits)
            .count_work_order(Some(from), to)
            .when_webhooks(!state.tally.no_webhooks);
        let tally = match taking.run {
            (from, to) if from == to => tally,
            (from, to) => tally.count_run(Some(from), to),
        };
        let run = taking.run_change(org, now);
        let subject = Subject {
            org,
            run_id: &entry.run_id,
            work_order_id: &entry.work_order_id,
            tenant_context: entry.tenant_context.as_ref(),
        };
        let committed = Transaction::new()
            .put(
                &Key::lease(org, &entry.run_id),
                &lease.at(permit, &state.tally),
            )?
            .take_permit(permit)
            .take_thread(org, thread, &entry.run_id)
            .delete(
                &Key::entry(org, &entry.work_order_id),
                Change::new()
                    .when("runId", &entry.run_id)
                    .when_missing("wanted"),
            )
            .update(&Key::run(org, &entry.run_id), run)
            .update(&Key::work_order(org, &entry.work_order_id), order)
            .update(&Key::tally(org), tally)
            .append_event(
                self,
                &subject,
                taking.last_sequence + 1,
                taking.event.to_parts(),
                now,
            )?
            .commit(self)
            .await?;
        match committed {
            CommitOutcome::Yes => Ok(DispatchOutcome::Yes),
            CommitOutcome::No(refusals) => {
                tracing::info!(event = "dispatch_lost", run = %entry.run_id, refused = ?refusals.iter().map(|r| r.kind).collect::<Vec<_>>(), "a rival dispatched first");
                Ok(DispatchOutcome::Lost)
            }
        }
    }

    /// Postpones the next reading of the queue, or ends the readings if nothing waits.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn postpone_wake_up(&self, org: &OrgId, now: Timestamp) -> Result<(), Error> {
        let key = Key::tally(org);
        let later = Change::new()
            .set("dueAt", now.plus_ms(WAKE_UP_MS).epoch_ms())
            .compare("waiting", ">", 0);
        if let crate::engine::table::UpdateOutcome::Refused(_) = self.update(&key, later).await? {
            let quiet = Change::new().remove("dueAt").compare("waiting", "<=", 0);
            self.update(&key, quiet).await?;
        }
        Ok(())
    }
}
