//! A new run of a waiting or failed work order, in one transaction. If the old run still waits, the
//! new one replaces it in the queue; if a slot is free and the work order is first in order, the
//! new run has it from the start.

use awo_domain::event::Lifecycle;
use awo_domain::money::MicroCredits;
use awo_domain::run::{Phase, RunEvent, RunStatus};
use awo_domain::stop::{Stop, StopKind};
use awo_domain::work_order::{WorkOrderEvent, WorkOrderStatus};
use awo_domain::{Error, RunId, Timestamp};

use crate::Store;
use crate::capacity::permits::FreePermit;
use crate::engine::change::Change;
use crate::engine::idempotency::{NewResponse, RequestOutcome, replay};
use crate::engine::item_kind::ItemKind;
use crate::engine::key::Key;
use crate::engine::transaction::{CommitOutcome, Refusal, Transaction};
use crate::ledger::budgets::{Move, only_waits, over_budget};
use crate::ledger::credits::insufficient;
use crate::queue::tally::QueueLimits;
use crate::runs::lifecycle::dispatch::{EntryItem, QueueState};
use crate::runs::lifecycle::lease::Lease;
use crate::runs::lifecycle::settle::released;
use crate::runs::lifecycle::transitions::{after_order, after_run};
use crate::runs::{CREATED_SEQUENCE, Run, RunItem};
use crate::usage::Earlier;
use crate::work_orders::threads::FreeThread;
use crate::work_orders::{QUEUE_RETRY_S, WorkOrder, queue_entry, queued_run};

/// A run to be started.
#[derive(Debug)]
pub struct NewRun<'a> {
    /// The owner.
    pub org: &'a awo_domain::OrgId,
    /// The work order as it was read.
    pub order: &'a WorkOrder,
    /// Its newest run as it was read.
    pub old: &'a Run,
    /// The new run's id.
    pub run_id: RunId,
    /// Its hold.
    pub hold: MicroCredits,
    /// True if it waits for a budget, and nothing is reserved yet.
    pub waits: bool,
    /// When it is started.
    pub now: Timestamp,
}

/// Where a new run begins.
#[derive(Debug)]
pub enum Beginning<'a> {
    /// In the queue.
    Queued,
    /// In a slot that is free.
    InSlot {
        /// Its lease.
        lease: &'a Lease,
        /// The capacity permit of its task.
        permit: &'a FreePermit,
        /// The thread of the work order.
        thread: &'a FreeThread,
        /// The queue as it was when it was this work order's turn.
        queue: &'a QueueState,
    },
}

/// The result of a start.
#[derive(Debug)]
pub enum StartOutcome<T = ()> {
    /// There is a new run, or the same request was answered before.
    Done(RequestOutcome<T>),
    /// A budget does not cover it, and its runs wait: start it so.
    WaitsForBudget,
    /// Work order, queue or slots are not as they were read: read them again.
    Changed,
}

impl Store {
    /// Starts a new run. `response` is what a replay of the same request gets.
    ///
    /// # Errors
    /// [`Error::QueueFull`], [`Error::InsufficientCredits`], [`Error::IdempotencyMismatch`],
    /// [`Error::Conflict`] if the work order neither waits nor has failed, or internal; in every
    /// case nothing was written.
    pub async fn start_run(
        &self,
        new: &NewRun<'_>,
        beginning: &Beginning<'_>,
        limits: QueueLimits,
        response: Option<&NewResponse<'_>>,
    ) -> Result<StartOutcome, Error> {
        let (org, now) = (new.org, new.now);
        let waits = new.order.status == WorkOrderStatus::Queued;
        let run = new.run(beginning)?;
        let mut transaction = Transaction::new()
            .update(
                &Key::work_order(org, &new.order.id),
                new.order_change(beginning)?,
            )
            .put(&Key::run(org, &run.run_id), &RunItem::of(org, &run))?
            .update(
                &Key::tally(org),
                new.tally_change(beginning, run.status, limits)?,
            )
            .balance(org, new.balance_change(waits), new.moves(&run, waits))
            .append_event(
                self,
                &run.subject(org),
                CREATED_SEQUENCE,
                Lifecycle::Created.to_parts(),
                now,
            )?;
        if !new.waits {
            transaction = transaction.record_hold(org, &run.run_id, new.hold, now)?;
        }
        if waits {
            transaction =
                transaction.cancel_queued_run(self, org, new.old, &new.replaced(), now)?;
        }
        let started = new
            .put_beginning(transaction, self, beginning, &run)?
            .store_response(org, response, now)?
            .commit(self)
            .await?;
        match started {
            CommitOutcome::Yes => Ok(StartOutcome::Done(RequestOutcome::New(()))),
            CommitOutcome::No(refusals) => new.refused(beginning, response, refusals),
        }
    }
}

impl NewRun<'_> {
    fn order_status(&self, beginning: &Beginning<'_>) -> Result<WorkOrderStatus, Error> {
        let queued = after_order(self.order.status, WorkOrderEvent::RunStarted)?;
        match beginning {
            Beginning::Queued => Ok(queued),
            Beginning::InSlot { .. } => after_order(queued, WorkOrderEvent::SlotTaken),
        }
    }

    /// The run as it begins.
    fn run(&self, beginning: &Beginning<'_>) -> Result<Run, Error> {
        let queued = Run {
            earlier: Earlier::than_the_run_after(self.old),
            ..queued_run(self.order, &self.run_id, (self.hold, self.waits), self.now)
        };
        Ok(match beginning {
            Beginning::Queued => queued,
            Beginning::InSlot { .. } => Run {
                status: after_run(queued.status, RunEvent::SlotTaken)?,
                phase: Some(Phase::Building),
                started_at: Some(self.now),
                last_sequence: CREATED_SEQUENCE + 1,
                ..queued
            },
        })
    }

    fn order_change(&self, beginning: &Beginning<'_>) -> Result<Change, Error> {
        let (from, to) = (self.order.status, self.order_status(beginning)?);
        let change = Change::new()
            .move_order(self.org, &self.old.run_id, from, to)
            .set("runId", &self.run_id)
            .remove("sealedAt");
        Ok(match self.order.environment {
            Some(_) => change
                .set_some(
                    "environmentSnapshot",
                    self.order.environment_snapshot.as_ref(),
                )
                .set_or_remove("containers", self.order.containers.as_ref()),
            None => change,
        })
    }

    fn tally_change(
        &self,
        beginning: &Beginning<'_>,
        run: RunStatus,
        limits: QueueLimits,
    ) -> Result<Change, Error> {
        let counted = Change::new()
            .count_work_order(Some(self.order.status), self.order_status(beginning)?)
            .count_run(None, run);
        let waits = self.order.status == WorkOrderStatus::Queued;
        let counted = if waits {
            counted.count_run(Some(RunStatus::Queued), RunStatus::Canceled)
        } else {
            counted
        };
        Ok(match beginning {
            Beginning::Queued if waits => counted,
            Beginning::Queued => counted.entry_came(self.org, limits, self.now),
            Beginning::InSlot { queue, .. } => {
                let last_served = queue.tally.last_served.as_deref();
                let taken = counted.slot_taken(self.order.tenant(), last_served, limits);
                let taken = taken.when_webhooks(!queue.tally.no_webhooks);
                if waits { taken.entry_left() } else { taken }
            }
        })
    }

    /// Where the old run waits, its hold is released in the same breath.
    fn balance_change(&self, waits: bool) -> Change {
        let freed = if waits { self.old.hold_micro } else { 0 };
        let held = if self.waits { 0 } else { self.hold.micro() };
        Change::new().reserve(held - freed, self.now)
    }

    fn moves(&self, run: &Run, waits: bool) -> Vec<Move> {
        let freed = waits.then(|| self.old.settles(released(self.old)));
        let held = Move::reserves(run.reservation(), run.hold_micro);
        freed.into_iter().chain([held]).collect()
    }

    /// Why the old run is over that still waited.
    fn replaced(&self) -> Stop {
        Stop {
            kind: StopKind::Cancel,
            reason: Some(format!("replaced by {}", self.run_id)),
            requested_at: self.now,
        }
    }

    /// Entry and lease.
    fn put_beginning(
        &self,
        transaction: Transaction,
        store: &Store,
        beginning: &Beginning<'_>,
        run: &Run,
    ) -> Result<Transaction, Error> {
        let entry = Key::entry(self.org, &self.order.id);
        let waits = self.order.status == WorkOrderStatus::Queued;
        let old = Change::new().when("runId", &self.old.run_id);
        match beginning {
            Beginning::Queued if waits => {
                // Whatever the old run has come back from, the new one has not begun.
                let new = old.set("runId", &self.run_id).remove("lastSequence");
                let new = if self.waits {
                    new.set("wanted", self.order.wanted(self.hold))
                } else {
                    new.remove("wanted")
                };
                Ok(transaction.update(&entry, new.remove("cameBack")))
            }
            Beginning::Queued => {
                let item = EntryItem {
                    wanted: self.waits.then(|| self.order.wanted(self.hold)),
                    ..queue_entry(self.order, &self.run_id, self.now)
                };
                transaction.put(&entry, &item)
            }
            Beginning::InSlot {
                lease,
                permit,
                thread,
                queue,
            } => {
                let transaction = if waits {
                    transaction.delete(&entry, old)
                } else {
                    transaction
                };
                let key = Key::lease(self.org, &self.run_id);
                transaction
                    .put(&key, &lease.at(permit, &queue.tally))?
                    .take_permit(permit)
                    .take_thread(self.org, thread, &self.run_id)
                    .append_event(
                        store,
                        &run.subject(self.org),
                        CREATED_SEQUENCE + 1,
                        Lifecycle::Building.to_parts(),
                        self.now,
                    )
            }
        }
    }

    /// The meaning of a refused start: a replay before all else, then what has changed since, then
    /// what the caller can do something about.
    fn refused(
        &self,
        beginning: &Beginning<'_>,
        response: Option<&NewResponse<'_>>,
        mut refusals: Vec<Refusal>,
    ) -> Result<StartOutcome, Error> {
        if !self.waits && only_waits(&refusals) {
            return Ok(StartOutcome::WaitsForBudget);
        }
        if let Some(first) = replay(response, &refusals)? {
            return Ok(StartOutcome::Done(RequestOutcome::Replayed(first)));
        }
        let over = over_budget(&refusals);
        refusals.sort_by_key(|refusal| match refusal.kind {
            ItemKind::Tally => 2,
            ItemKind::Balance => 3,
            ItemKind::BudgetCounter => 4,
            _ => 1,
        });
        let waits = self.order.status == WorkOrderStatus::Queued;
        let Some(Refusal { kind, item, .. }) = refusals.into_iter().next() else {
            return Err(Error::internal("a start was refused without a reason"));
        };
        match (kind, beginning) {
            (ItemKind::Tally, Beginning::Queued) if !waits => Err(Error::QueueFull {
                retry_after_s: QUEUE_RETRY_S,
            }),
            (ItemKind::Balance, _) => {
                let freed = if waits {
                    released(self.old).release
                } else {
                    MicroCredits::ZERO
                };
                Err(insufficient(self.hold.minus(freed), item)?)
            }
            _ => match over.filter(|_| kind == ItemKind::BudgetCounter) {
                Some(error) => Err(error),
                None => Ok(StartOutcome::Changed),
            },
        }
    }
}
