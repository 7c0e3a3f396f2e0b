//! The end of a run that has a slot, as one transaction: run and work order terminal, the lease
//! closed, the event written, and the hold resolved, unless that waits for the end of its compute.
//! Of two concurrent ends, one does nothing. A run that waits for its children ends in the same
//! way, with or without its old lease.

mod delivery;

use awo_domain::control::StopRequest;
use awo_domain::event::{Lifecycle, RunEnding};
use awo_domain::pull_request::PullRequestUrl;
use awo_domain::run::{RunEnd, RunStatus};
use awo_domain::stop::Stop;
use awo_domain::usage::PricedUsage;
use awo_domain::work_order::{WorkOrderEvent, WorkOrderStatus};
use awo_domain::{Error, OrgId, Timestamp};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::runs_with;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::runs::Run;
use crate::runs::lifecycle::lease::{Lease, STOPPING_MS};
use crate::runs::lifecycle::settle::{Charge, Settling, log_settled};
use crate::runs::lifecycle::transitions::{after_order, after_run};
use crate::work_orders::WorkOrder;
use crate::work_orders::cascades::FamilyStop;

/// How a run ends.
#[derive(Debug, Clone)]
pub struct Ending {
    /// Its end.
    pub end: RunEnd,
    /// Iterations begun.
    pub iterations: u32,
    /// The last commit, if it is not the one that is known.
    pub commit: Option<String>,
    /// The branch on the origin.
    pub branch: Option<String>,
    /// Where the pull request is.
    pub pr_url: Option<PullRequestUrl>,
    /// Its total usage.
    pub usage: Vec<PricedUsage>,
    /// Its charge.
    pub charge: Charge,
}

/// The cause of a run's end: the condition on its lease.
pub(crate) enum Ender<'a> {
    /// The runner, by its token and the lease as it was read.
    Runner {
        token_hash: &'a str,
        lease: &'a Lease,
        now_reported: u64,
        /// True if it reports that nothing of the run is alive.
        nothing_alive: bool,
        /// True if it reports that client code has started.
        executed: bool,
    },
    /// The service, for the lease as it was read, if there is one; because of a deadline, only while
    /// that is the lease's.
    Service {
        lease: Option<&'a Lease>,
        due_at: Option<i64>,
    },
    /// A client; where `unclaimed`, only while no runner has come.
    Client {
        stopping: FamilyStop<'a>,
        unclaimed: bool,
    },
}

/// A run as it was read.
#[derive(Debug, Clone, Copy)]
pub struct RunView<'a> {
    /// Its work order.
    pub order: &'a WorkOrder,
    /// The run.
    pub run: &'a Run,
    /// Lease of the run, if it has one.
    pub lease: Option<&'a Lease>,
    /// The deadline of its lease for which it is ended, if it is ended for one.
    pub due_at: Option<i64>,
}

impl Store {
    /// Ends a run whose runner cannot: one that has a lease, or waits for its children. False if
    /// it was over, or has changed: read it again.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn end_run(
        &self,
        org: &OrgId,
        seen: &RunView<'_>,
        ending: &Ending,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let ender = Ender::Service {
            lease: seen.lease,
            due_at: seen.due_at,
        };
        self.end(org, seen, ending, &ender, now).await
    }

    pub(crate) async fn end(
        &self,
        org: &OrgId,
        seen: &RunView<'_>,
        ending: &Ending,
        ender: &Ender<'_>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        if seen.run.status.is_terminal() || !seen.order.has_begun(seen.run) {
            return Ok(false);
        }
        let end = End {
            org,
            order: seen.order,
            stored: seen.run,
            run: seen.run,
            leased: seen.lease.is_some(),
            ending,
            ender,
            now,
        };
        let transaction = end.add_to(Transaction::new(), self)?;
        let is_ended = transaction.commit(self).await?.is_yes();
        if is_ended {
            end.log()?;
        }
        Ok(is_ended)
    }
}

impl WorkOrder {
    /// True if this run is its newest and neither waits for its first slot nor is over.
    pub(crate) fn has_begun(&self, run: &Run) -> bool {
        let begun = self.status != WorkOrderStatus::Queued && !self.status.is_terminal();
        begun && self.run_id == run.run_id
    }
}

/// The end of a run, to be added to a transaction.
pub(crate) struct End<'a> {
    pub org: &'a OrgId,
    pub order: &'a WorkOrder,
    /// The run as it is stored; the conditions are on it.
    pub stored: &'a Run,
    /// The run after the events that the same transaction appends.
    pub run: &'a Run,
    /// True if it has a lease: one that waits for its children has none, or a closed one.
    pub leased: bool,
    pub ending: &'a Ending,
    pub ender: &'a Ender<'a>,
    pub now: Timestamp,
}

impl End<'_> {
    pub fn add_to(&self, transaction: Transaction, store: &Store) -> Result<Transaction, Error> {
        let (org, run, now) = (self.org, self.run, self.now);
        let status = after_run(run.status, self.ending.end.event())?;
        let settled = self.ending.charge.settle(run);
        let later = self.leased && self.ending.end.is_settled_later();
        let now_settled = (!later).then_some(settled);
        let ended = self.ended_run(status);
        let ended = match now_settled {
            Some(settled) => ended.settled(settled, &self.ending.usage, now),
            None => ended,
        };
        let (transaction, ended) = self.add_reports(transaction, ended);
        let transaction = self
            .end_order(transaction, status)?
            .update(&Key::run(org, &run.run_id), ended)
            .append_event(
                store,
                &run.subject(org),
                run.last_sequence + 1,
                self.event(status, settled.deduction).to_parts(),
                now,
            )?;
        match now_settled {
            None => Ok(transaction),
            Some(settled) => {
                let settling = Settling {
                    run,
                    outcome: status,
                    usage: &self.ending.usage,
                    completed_at: now,
                    charge: &self.ending.charge,
                    settled,
                };
                transaction.settle(org, &settling, now)
            }
        }
    }

    /// Logs the outcome of the run, once it is written.
    pub fn log(&self) -> Result<(), Error> {
        let status = after_run(self.run.status, self.ending.end.event())?;
        if !(self.leased && self.ending.end.is_settled_later()) {
            let settled = self.ending.charge.settle(self.run);
            log_settled(self.run, status, settled, self.now);
        }
        Ok(())
    }

    /// Lease, work order and tally, and what the work order leaves if it waits for its children.
    fn end_order(&self, transaction: Transaction, status: RunStatus) -> Result<Transaction, Error> {
        let (org, run) = (self.org, self.run);
        let (from, to) = (self.order.status, self.order_status()?);
        let waits = from == WorkOrderStatus::WaitingForChildren;
        let mut transaction = transaction;
        if self.leased {
            let lease = if waits {
                Change::new()
                    .set("dueAt", self.now.plus_ms(STOPPING_MS).epoch_ms())
                    .when_present("closedAt")
            } else {
                self.ender.close_lease(self.now)
            };
            let key = Key::lease(org, &run.run_id);
            transaction = transaction.update(&key, lease);
        }
        let tally = Change::new()
            .count_work_order(Some(from), to)
            .count_run(Some(self.stored.status), status);
        let tally = if waits {
            transaction = transaction.stop_waiting(org, self.order);
            tally.entries_left(u32::from(self.order.sealed_at.is_some()))
        } else {
            tally
        };
        if let Ender::Client { stopping, .. } = self.ender {
            transaction = transaction.cascade(org, self.order, stopping, self.now)?;
        }
        if let Some(delivery) = self.delivery() {
            transaction = transaction.delivered_to(org, &delivery);
        }
        let key = Key::work_order(org, &run.work_order_id);
        Ok(transaction
            .update(&key, self.ended_order(to))
            .update(&Key::tally(org), tally))
    }

    fn order_status(&self) -> Result<WorkOrderStatus, Error> {
        let event = match self.ending.end {
            RunEnd::Succeeded => WorkOrderEvent::Succeeded,
            RunEnd::Failed(_) => WorkOrderEvent::Failed,
            RunEnd::Canceled => WorkOrderEvent::Canceled,
        };
        after_order(self.order.status, event)
    }

    fn ended_order(&self, to: WorkOrderStatus) -> Change {
        let from = self.order.status;
        let order = Change::new()
            .move_order(self.org, &self.run.run_id, from, to)
            .set_some("prUrl", self.ending.pr_url.as_ref())
            .set("verified", self.is_verified());
        let waits = from == WorkOrderStatus::WaitingForChildren;
        let order = if waits {
            order.when_option("sealedAt", self.order.sealed_at)
        } else {
            order
        };
        let stopped = matches!(self.ender, Ender::Client { .. });
        let integrates = from == WorkOrderStatus::Integrating;
        let succeeds = self.ending.end == RunEnd::Succeeded && !integrates;
        // Nothing succeeds with a child that it does not know, and no child misses a stop.
        if stopped || waits || succeeds {
            order.with_children_of(self.order)
        } else {
            order
        }
    }

    fn event(&self, status: RunStatus, credits: awo_domain::money::MicroCredits) -> Lifecycle {
        Lifecycle::Ended(RunEnding {
            status,
            iterations: self.ending.iterations,
            pr_url: self.ending.pr_url.clone(),
            verified: self.run.verified,
            verification: self.run.verification,
            error: self.ending.end.error().cloned(),
            started_at: self.run.started_at.unwrap_or(self.run.created_at),
            completed_at: self.now,
            credits,
            reason: self.stop().and_then(|stop| stop.reason.clone()),
        })
    }

    /// The request that this end fulfils, if it does one.
    fn stop(&self) -> Option<&Stop> {
        match self.ender {
            Ender::Client { stopping, .. } => Some(stopping.stop),
            Ender::Runner { .. } | Ender::Service { .. } if self.ending.end.is_settled_later() => {
                self.run.stop.as_ref()
            }
            Ender::Runner { .. } | Ender::Service { .. } => None,
        }
    }

    fn ended_run(&self, status: RunStatus) -> Change {
        let (stored, run, ending) = (self.stored, self.run, self.ending);
        Change::new()
            .set("status", status)
            .set("statusKey", runs_with(self.org, status))
            .set("completedAt", self.now)
            .set("iteration", ending.iterations)
            .set("usage", &ending.usage)
            .set("verified", run.verified)
            .set_some("verification", run.verification)
            .set("testsChanged", &run.tests_changed)
            .set_or_remove("gate", run.gate.as_ref())
            .set_or_remove("baseline", run.baseline.as_ref())
            .set("lastSequence", run.last_sequence + 1)
            .set("waitedMs", run.waited_ms)
            .set_or_remove("waitsSince", run.waits_since)
            .set_some("stop", self.stop())
            .set_some("workDir", run.work_dir.as_ref())
            .set_some("commit", self.commit())
            .set_some("branch", ending.branch.as_ref())
            .set_some("prUrl", ending.pr_url.as_ref())
            .set_some("error", ending.end.error())
            .set_some("base", run.base.as_ref())
            .set_some("turnEnd", run.turn_end.as_ref())
            .set_some("computeStoppedAt", (!self.leased).then_some(self.now))
            .remove("phase")
            .when("status", stored.status)
            .when("lastSequence", stored.last_sequence)
    }
}

impl Ender<'_> {
    /// The lease of a run that is over, or leaves its compute: closed for the runner, and due when
    /// its compute should be gone.
    pub(crate) fn close_lease(&self, now: Timestamp) -> Change {
        let change = Change::new()
            .set("closedAt", now)
            .set("dueAt", now.plus_ms(STOPPING_MS).epoch_ms())
            .remove("nonce")
            .when_present("runId")
            .when_missing("closedAt");
        match self {
            // Only a report of the runner changes them.
            Ender::Service { lease, due_at } => {
                let change = match lease {
                    Some(lease) => change.when_option("executedAt", lease.executed_at),
                    None => change,
                };
                match (due_at, lease) {
                    // Not every report moves the deadline.
                    (Some(due_at), Some(lease)) if lease.stop_request.is_none() => change
                        .when("dueAt", due_at)
                        .when_option("heardAt", lease.heard_at),
                    (Some(due_at), _) => change.when("dueAt", due_at),
                    (None, _) => change,
                }
            }
            Ender::Runner {
                token_hash,
                lease,
                now_reported,
                nothing_alive,
                executed,
            } => change
                .set("reported", now_reported)
                .set_some("deadAt", nothing_alive.then_some(now))
                .executed(*executed, now)
                .when("reported", lease.reported)
                .when_webhooks(!lease.no_webhooks)
                .when("tokenHash", token_hash),
            // What the client wants reaches the runner in the answer to its next report.
            Ender::Client { unclaimed, .. } => {
                let requested = change
                    .set_if_missing("stopRequest", StopRequest::Cancel)
                    .set_if_missing("stopRequestedAt", now);
                if *unclaimed {
                    requested.when_missing("tokenHash")
                } else {
                    requested
                }
            }
        }
    }
}
