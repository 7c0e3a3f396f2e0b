//! The end of a run that has a slot, as one transaction: run and work order terminal, the lease
//! closed, the event told, and the hold resolved, unless that has to wait for the end of its
//! compute. Of two that end a run, one does nothing.

use awo_domain::control::Wish;
use awo_domain::event::Lifecycle;
use awo_domain::pull_request::PullRequestUrl;
use awo_domain::run::{RunEnd, RunStatus};
use awo_domain::stop::Stop;
use awo_domain::work_order::{WorkOrderEvent, WorkOrderStatus};
use awo_domain::{Error, OrgId, Timestamp};

use crate::Store;
use crate::change::Change;
use crate::item::{Key, runs_with};
use crate::lease::STOPPING_MS;
use crate::moves::{after_order, after_run};
use crate::runs::{PricedUsage, Run};
use crate::settlement::Charge;
use crate::transaction::{Guard, Transaction};

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
    /// What it used in all.
    pub usage: Vec<PricedUsage>,
    /// What it is to be charged.
    pub charge: Charge,
}

/// Who ends a run: the condition on its lease.
pub(crate) enum Ender<'a> {
    /// The runner, by its token and the highest event number it knows to be kept.
    Runner {
        token_hash: &'a str,
        reported: u64,
        now_reported: u64,
    },
    /// The service, whoever holds the lease.
    Service,
    /// A client; where `unclaimed`, only while no runner has come.
    Client { stop: &'a Stop, unclaimed: bool },
}

impl Store {
    /// Ends a run whose runner cannot. False if it was over, or has changed: then look again.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn end_run(
        &self,
        org: &OrgId,
        run: &Run,
        ending: &Ending,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.end(org, run, ending, &Ender::Service, now).await
    }

    pub(crate) async fn end(
        &self,
        org: &OrgId,
        run: &Run,
        ending: &Ending,
        ender: &Ender<'_>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        if run.status.is_terminal() {
            return Ok(false);
        }
        let end = End {
            org,
            stored: run,
            run,
            ending,
            ender,
            now,
        };
        let transaction = end.add_to(Transaction::new(), self)?;
        Ok(transaction.commit(self).await?.is_yes())
    }
}

/// The end of a run, to be added to a transaction.
pub(crate) struct End<'a> {
    pub org: &'a OrgId,
    /// The run as it is stored; the conditions are on it.
    pub stored: &'a Run,
    /// The run after the events that the same transaction tells.
    pub run: &'a Run,
    pub ending: &'a Ending,
    pub ender: &'a Ender<'a>,
    pub now: Timestamp,
}

impl End<'_> {
    pub fn add_to(&self, transaction: Transaction, store: &Store) -> Result<Transaction, Error> {
        let (org, run, now) = (self.org, self.run, self.now);
        let (run_event, order_event) = match self.ending.end {
            RunEnd::Succeeded => (self.ending.end.event(), WorkOrderEvent::Succeeded),
            RunEnd::Failed(_) => (self.ending.end.event(), WorkOrderEvent::Failed),
            RunEnd::Canceled => (self.ending.end.event(), WorkOrderEvent::Canceled),
        };
        let status = after_run(run.status, run_event)?;
        let order_status = after_order(WorkOrderStatus::Running, order_event)?;
        let order =
            Change::new().move_order(org, &run.run_id, WorkOrderStatus::Running, order_status);
        let tally = Change::new()
            .count_work_order(Some(WorkOrderStatus::Running), order_status)
            .count_run(Some(self.stored.status), status);
        let settled = self.ending.charge.settle(run);
        let now_settled = (!self.ending.end.is_settled_later()).then_some(settled);
        let ended = self.ended_run(status);
        let ended = match now_settled {
            Some(settled) => ended.settled(settled, &self.ending.usage, now),
            None => ended,
        };
        let work = &store.tables.work;
        let transaction = transaction
            .update(
                Guard::Lease,
                work,
                &Key::lease(org, &run.run_id),
                self.closed_lease(),
            )?
            .update(Guard::Run, work, &Key::run(org, &run.run_id), ended)?
            .update(
                Guard::WorkOrder,
                work,
                &Key::work_order(org, &run.work_order_id),
                order,
            )?
            .update(Guard::Tally, work, &Key::tally(org), tally)?
            .tell(
                store,
                &run.subject(org),
                run.last_sequence + 1,
                self.told(status, settled.deduction).to_parts(),
                now,
            )?;
        match now_settled {
            None => Ok(transaction),
            Some(settled) => transaction
                .record_usage(store, org, run, &self.ending.usage, now)?
                .settle(store, org, run, &self.ending.charge, settled, now),
        }
    }

    fn told(&self, status: RunStatus, credits: awo_domain::money::MicroCredits) -> Lifecycle {
        Lifecycle::Ended {
            status,
            iterations: self.ending.iterations,
            pr_url: self.ending.pr_url.clone(),
            error: self.ending.end.error().cloned(),
            started_at: self.run.started_at.unwrap_or(self.run.created_at),
            completed_at: self.now,
            credits,
            reason: self.stop().and_then(|stop| stop.reason.clone()),
        }
    }

    /// The request that this end fulfils, if it does one.
    fn stop(&self) -> Option<&Stop> {
        match self.ender {
            Ender::Client { stop, .. } => Some(stop),
            Ender::Runner { .. } | Ender::Service if self.ending.end.is_settled_later() => {
                self.run.stop.as_ref()
            }
            Ender::Runner { .. } | Ender::Service => None,
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
            .set("lastSequence", run.last_sequence + 1)
            .set_some("stop", self.stop())
            .set_some("workDir", run.work_dir.as_ref())
            .set_some("commit", ending.commit.as_ref().or(run.commit.as_ref()))
            .set_some("branch", ending.branch.as_ref())
            .set_some("prUrl", ending.pr_url.as_ref())
            .set_some("error", ending.end.error())
            .remove("phase")
            .when("status", stored.status)
            .when("lastSequence", stored.last_sequence)
    }

    /// The lease of a run that is over: closed for the runner, and due when its compute should
    /// be gone.
    fn closed_lease(&self) -> Change {
        let now = self.now;
        let change = Change::new()
            .set("closedAt", now)
            .set("dueAt", now.plus_ms(STOPPING_MS).epoch_ms())
            .remove("nonce")
            .when_present("runId")
            .when_missing("closedAt");
        match self.ender {
            Ender::Service => change,
            Ender::Runner {
                token_hash,
                reported,
                now_reported,
            } => change
                .set("reported", now_reported)
                .when("reported", reported)
                .when("tokenHash", token_hash),
            // What the client wants reaches the runner in the answer to its next report.
            Ender::Client { unclaimed, .. } => {
                let wished = change
                    .set_if_missing("wish", Wish::Cancel)
                    .set_if_missing("wishedAt", now);
                if *unclaimed {
                    wished.when_missing("tokenHash")
                } else {
                    wished
                }
            }
        }
    }
}
