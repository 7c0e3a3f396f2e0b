//! Runs that leave their compute until the children of their work order have ended. It stays the
//! same run, with the same hold: it is suspended in the transaction that closes its lease, and once
//! its children have ended it enters the queue again and gets another lease.
//!
//! A work order that waits for its children has exactly one of two items: one that the sweep
//! examines, until its children have ended, and then an entry of the queue (`sealedAt`
//! distinguishes them).

use awo_domain::event::Lifecycle;
use awo_domain::usage::PricedUsage;
use awo_domain::work_order::{WorkOrderEvent, WorkOrderStatus};
use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{SCHEMA_VERSION, due_shard};
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::runs::lifecycle::dispatch::EntryItem;
use crate::runs::lifecycle::end::Ender;
use crate::runs::lifecycle::transitions::after_order;
use crate::runs::{Run, Suspension};
use crate::sweep::WaitingRef;
use crate::work_orders::{WorkOrder, queue_entry};

/// How often the sweep reads whether children have ended: the end of a child reads it at once.
pub const AGAIN_MS: i64 = 30_000;

/// The state of a run that is to wait for its children.
#[derive(Debug, Clone)]
pub struct Leave {
    /// The commit with which it began.
    pub base: String,
    /// Its newest commit.
    pub commit: String,
    /// The branch on the origin on which that stands.
    pub branch: Option<String>,
    /// Its agent's session.
    pub session_id: Option<String>,
    /// Iterations begun.
    pub iterations: u32,
    /// Its usage so far.
    pub usage: Vec<PricedUsage>,
}

/// A work order whose children are to be read.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingOrder {
    /// The owner.
    pub org_id: OrgId,
    /// The work order.
    pub work_order_id: WorkOrderId,
    /// Since when.
    pub waits_since: Timestamp,
    pub(crate) due_shard: String,
    pub(crate) due_at: i64,
    pub(crate) v: u32,
}

/// The suspension of a run, to be added to a transaction.
pub(crate) struct Suspend<'a> {
    pub org: &'a OrgId,
    pub order: &'a WorkOrder,
    /// The run as it is stored; the conditions are on it.
    pub stored: &'a Run,
    /// The run after the events that the same transaction appends.
    pub run: &'a Run,
    pub leave: &'a Leave,
    pub by: &'a Ender<'a>,
    pub now: Timestamp,
}

impl Suspend<'_> {
    pub fn add_to(&self, transaction: Transaction, store: &Store) -> Result<Transaction, Error> {
        let (org, run, now) = (self.org, self.run, self.now);
        let from = self.order.status;
        let to = after_order(from, WorkOrderEvent::ChildrenOpened)?;
        let waiting = WaitingOrder {
            org_id: org.clone(),
            work_order_id: self.order.id.clone(),
            waits_since: now,
            due_shard: due_shard(self.order.id.as_str()),
            due_at: now.plus_ms(AGAIN_MS).epoch_ms(),
            v: SCHEMA_VERSION,
        };
        let order = Change::new().move_order(org, &run.run_id, from, to);
        let tally = Change::new().count_work_order(Some(from), to);
        let event = Lifecycle::Waiting {
            iterations: self.leave.iterations,
        };
        let lease = self.by.close_lease(now);
        let run_key = Key::run(org, &run.run_id);
        let order_key = Key::work_order(org, &self.order.id);
        let waiting_key = Key::waiting(org, &self.order.id);
        transaction
            .update(&Key::lease(org, &run.run_id), lease)
            .update(&run_key, self.suspended())
            .update(&order_key, order)
            .put(&waiting_key, &waiting)?
            .update(&Key::tally(org), tally)
            .append_event(
                store,
                &run.subject(org),
                run.last_sequence + 1,
                event.to_parts(),
                now,
            )
    }

    fn suspended(&self) -> Change {
        let (stored, run, leave) = (self.stored, self.run, self.leave);
        let suspension = Suspension {
            at: self.now,
            compute_ms: run.compute_ms(self.now),
            waited_ms: run.waited_ms,
            session_id: leave.session_id.clone(),
        };
        Change::new()
            .set("suspension", suspension)
            .set("base", &leave.base)
            .set("commit", &leave.commit)
            .set_some("branch", leave.branch.as_ref())
            .set("iteration", leave.iterations)
            .set("usage", &leave.usage)
            .set("waitedMs", run.waited_ms)
            .set("lastSequence", run.last_sequence + 1)
            .set_some("workDir", run.work_dir.as_ref())
            .remove("phase")
            .when_missing("suspension")
            .when("status", stored.status)
            .when("lastSequence", stored.last_sequence)
    }
}

impl Transaction {
    /// What a work order leaves that waits for its children: the sweep's item, or its entry.
    pub(crate) fn stop_waiting(self, org: &OrgId, order: &WorkOrder) -> Transaction {
        match order.sealed_at {
            Some(_) => self.delete(
                &Key::entry(org, &order.id),
                Change::new().when("runId", &order.run_id),
            ),
            None => self.delete(
                &Key::waiting(org, &order.id),
                Change::new().when_present("pk"),
            ),
        }
    }
}

impl Store {
    /// Puts a work order whose children have ended into the queue again, which always has room for
    /// it. False if it has changed since it was read: read it again.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn reenter(
        &self,
        org: &OrgId,
        order: &WorkOrder,
        run: &Run,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let sealed = Change::new()
            .set("sealedAt", now)
            .when("status", WorkOrderStatus::WaitingForChildren)
            .when("runId", &run.run_id)
            .when_missing("sealedAt")
            .with_children_of(order);
        let entry = EntryItem {
            resumes: Some(run.last_sequence),
            ..queue_entry(order, &run.run_id, now)
        };
        let tally = Change::new().entry_came_back(org, now);
        let order_key = Key::work_order(org, &order.id);
        let committed = Transaction::new()
            .update(&order_key, sealed)
            .stop_waiting(org, order)
            .put(&Key::entry(org, &order.id), &entry)?
            .update(&Key::tally(org), tally)
            .commit(self)
            .await?;
        Ok(committed.is_yes())
    }

    /// Postpones the sweep of the children of a work order, if it still waits.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn postpone_children(
        &self,
        waiting: &WaitingRef,
        now: Timestamp,
    ) -> Result<(), Error> {
        let later = Change::new()
            .set("dueAt", now.plus_ms(AGAIN_MS).epoch_ms())
            .when("dueAt", waiting.due_at);
        let key = Key::waiting(&waiting.org_id, &waiting.work_order_id);
        self.update(&key, later).await?;
        Ok(())
    }
}
