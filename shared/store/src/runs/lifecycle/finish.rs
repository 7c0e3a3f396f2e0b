//! A runner's final report: its run ends, or leaves its compute to wait for children. Like every
//! report it counts once and only under the lease's token. The runner of a run that a client
//! stopped may send one more report, once: its total usage.

use awo_domain::control::{
    Finish as LastReport, NumberedEvent, ReportAnswer, StopRequest, TurnEnd,
};
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, Timestamp};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::Key;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::engine::tries::Tries;
use crate::runs::Run;
use crate::runs::lifecycle::end::{End, Ender, Ending};
use crate::runs::lifecycle::lease::{Lease, lease_lost};
use crate::runs::lifecycle::report::{LeaseStanding, Progress, Reporter};
use crate::runs::lifecycle::suspend::{Leave, Suspend};
use crate::work_orders::WorkOrder;

/// State of a run whose runner has sent its last report.
#[derive(Debug)]
pub struct Stands<'a> {
    /// The run, with all events.
    pub run: &'a Run,
    /// Lease of the run.
    pub lease: &'a Lease,
    /// What a client wants of it.
    pub stop_request: Option<StopRequest>,
    /// True if its work order has children that count and are not integrated.
    pub has_children: bool,
}

/// What becomes of a run.
#[derive(Debug)]
pub enum Finish {
    /// It ends.
    Ends(Box<Ending>),
    /// It waits for its children.
    Leaves(Box<Leave>),
}

/// What becomes of a run, from how it stands.
pub type Finishing<'a> = dyn Fn(&Stands<'_>) -> Result<Finish, Error> + Sync + 'a;

/// The outcome of a finish.
#[derive(Debug)]
pub struct FinishOutcome {
    /// For the runner.
    pub answer: ReportAnswer,
    /// The work order, as it was before, of a run that has ended now.
    pub ended: Option<WorkOrder>,
}

impl FinishOutcome {
    /// For a runner whose slot was given back by its last report.
    fn again(events: &[NumberedEvent]) -> FinishOutcome {
        let last = events.last().map_or(0, |event| event.number);
        FinishOutcome::from(ReportAnswer {
            acknowledged: last,
            stop_request: None,
            configuration: None,
        })
    }
}

impl From<ReportAnswer> for FinishOutcome {
    fn from(answer: ReportAnswer) -> FinishOutcome {
        FinishOutcome {
            answer,
            ended: None,
        }
    }
}

impl Store {
    /// Ends a run as its runner reports, with the events that it has not reported yet, or lets it wait
    /// for its children; and records if nothing of the run is alive by the report. Of a run that a client
    /// has stopped only the usage is taken. A repeated report is answered as the first one.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the lease is lost, what `finishing` refuses, or internal.
    pub async fn finish(
        &self,
        by: &Reporter,
        last: &LastReport,
        finishing: &Finishing<'_>,
        now: Timestamp,
    ) -> Result<FinishOutcome, Error> {
        let mut tries = Tries::new("finish: the run kept changing");
        loop {
            tries.next().await?;
            let (stored, lease) = match self.standing(by).await? {
                LeaseStanding::Holds(run, lease) => (run, lease),
                LeaseStanding::Stopped(run, lease) => {
                    let ending = last_word(finishing, &run, &lease)?;
                    let taken = self.last_report(by, &lease, (&ending, last), now);
                    match taken.await? {
                        Some(answer) => return Ok(answer.into()),
                        None => continue,
                    }
                }
                LeaseStanding::Lost(lease, run) => {
                    let known = run.and_then(|run| run.finished_by);
                    if known.as_deref() == Some(&by.token_hash) {
                        return Ok(FinishOutcome::again(&last.events));
                    }
                    return self
                        .finished_before(by, lease)
                        .await
                        .map(FinishOutcome::from);
                }
            };
            let order = self.work_order(&by.org, &stored.work_order_id).await?;
            let Some(order) = order.filter(|order| order.has_begun(&stored)) else {
                continue;
            };
            let mut progress = Progress::of(&stored, lease.reported, &last.events)?;
            progress.run.turn_end = last.turn.as_ref().map(TurnEnd::bounded);
            let report = FinalReport {
                by,
                order: &order,
                stored: &stored,
                progress: &progress,
                lease: &lease,
                last,
                now,
            };
            if let Some(ended) = self.finish_once(&report, finishing).await? {
                let answer = ReportAnswer {
                    acknowledged: progress.reported,
                    stop_request: None,
                    configuration: None,
                };
                let ended = ended.then_some(order);
                return Ok(FinishOutcome { answer, ended });
            }
        }
    }

    /// True if the run has ended, false if it waits; none if it has changed.
    async fn finish_once(
        &self,
        report: &FinalReport<'_>,
        finishing: &Finishing<'_>,
    ) -> Result<Option<bool>, Error> {
        let (org, order, run) = (&report.by.org, report.order, &report.progress.run);
        // Those that it integrates are not waited for again.
        let family = match order.status {
            WorkOrderStatus::Running => self.family(org, order, run).await?,
            _ => crate::work_orders::family::Family::default(),
        };
        let finish = finishing(&Stands {
            run,
            lease: report.lease,
            stop_request: report.lease.stop_request,
            has_children: !family.is_empty(),
        })?;
        let ender = Ender::Runner {
            token_hash: &report.by.token_hash,
            lease: report.lease,
            now_reported: report.progress.reported,
            nothing_alive: report.last.nothing_alive,
            executed: report.last.executed,
        };
        let (stored, now) = (report.stored, report.now);
        let transaction = self.append_events(
            Transaction::of_lease(report.lease),
            org,
            stored,
            report.progress,
            now,
        )?;
        let (transaction, ended) = match &finish {
            Finish::Ends(ending) => {
                let end = End {
                    org,
                    order,
                    stored,
                    run,
                    leased: true,
                    ending,
                    ender: &ender,
                    now,
                };
                (end.add_to(transaction, self)?, Some(end))
            }
            Finish::Leaves(leave) => {
                let suspend = Suspend {
                    org,
                    order,
                    stored,
                    run,
                    leave,
                    by: &ender,
                    now,
                };
                (suspend.add_to(transaction, self)?, None)
            }
        };
        if !transaction.commit(self).await?.is_yes() {
            return Ok(None);
        }
        if let Some(end) = &ended {
            end.log()?;
        }
        Ok(Some(ended.is_some()))
    }

    /// Takes what a stopped run used, once; none if it must be read again.
    async fn last_report(
        &self,
        by: &Reporter,
        lease: &Lease,
        (ending, last): (&Ending, &LastReport),
        now: Timestamp,
    ) -> Result<Option<ReportAnswer>, Error> {
        if lease.last_report_at.is_some() {
            return Ok(Some(lease.answer()));
        }
        let change = Change::new()
            .set("lastReportAt", now)
            .set_some("deadAt", last.nothing_alive.then_some(now))
            .executed(last.executed, now)
            .when("tokenHash", &by.token_hash)
            .when_present("closedAt")
            .when_missing("lastReportAt");
        let used = Change::new()
            .set("usage", &ending.usage)
            .set("iteration", ending.iterations)
            .set_some("commit", ending.commit.as_ref())
            .when_present("runId")
            .when_missing("settledAt");
        let committed = Transaction::new()
            .update(&Key::lease(&by.org, &by.run_id), change)
            .update(&Key::run(&by.org, &by.run_id), used)
            .commit(self)
            .await?;
        match committed {
            CommitOutcome::Yes => Ok(Some(lease.answer())),
            CommitOutcome::No(refusals) if refusals.iter().any(|r| r.kind == ItemKind::Run) => {
                Err(lease_lost())
            }
            CommitOutcome::No(_) => Ok(None),
        }
    }

    /// A finish that came twice: the first one closed the lease under this very token.
    async fn finished_before(
        &self,
        by: &Reporter,
        lease: Option<Box<Lease>>,
    ) -> Result<ReportAnswer, Error> {
        // Under another token a run that is there costs no more reads than one that is not.
        let lease = lease
            .filter(|lease| lease.closed_at.is_some() && lease.is_held_by(&by.token_hash))
            .ok_or_else(lease_lost)?;
        let run = self.run(&by.org, &by.run_id).await?;
        let done = run.is_some_and(|run| run.status.is_terminal() || run.is_suspended());
        done.then(|| lease.answer()).ok_or_else(lease_lost)
    }
}

/// A runner's last word, and what it is about.
struct FinalReport<'a> {
    by: &'a Reporter,
    order: &'a WorkOrder,
    stored: &'a Run,
    progress: &'a Progress,
    lease: &'a Lease,
    last: &'a LastReport,
    now: Timestamp,
}

/// The report of a run that is over.
fn last_word(finishing: &Finishing<'_>, run: &Run, lease: &Lease) -> Result<Box<Ending>, Error> {
    let stands = Stands {
        run,
        lease,
        stop_request: lease.stop_request,
        has_children: false,
    };
    match finishing(&stands)? {
        Finish::Ends(ending) => Ok(ending),
        Finish::Leaves(_) => Err(lease_lost()),
    }
}
