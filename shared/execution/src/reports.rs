//! Posts reports of runs to forges: a check of a commit, and a sticky comment. An attempt is recorded before it is made;
//! each call finds what an earlier attempt has made, so that there is one check of a run and a commit, and one comment
//! of a thread.

mod check;
mod comment;
mod markdown;

use std::time::Duration;

use awo_cloud::{Cloud, Mint, SetupError, settings};
use awo_domain::run_report::{ReportKind, RunReport};
use awo_domain::webhook::schedule::{AttemptOutcome, Next, RetrySchedule};
use awo_domain::{Error, Timestamp};
use awo_forges::{Fault, TokenScope};
use awo_store::Store;
use awo_store::reports::{ReportAttempt, ReportRef};
use awo_store::runs::Run;
use awo_store::work_orders::WorkOrder;
use tokio::time::timeout;

use crate::git_access::{ForgeAccess, ForgeFault, GitHosts};

/// Longest time of the calls of an attempt.
const LIMIT: Duration = Duration::from_secs(60);

/// Posts reports.
#[derive(Debug, Clone)]
pub struct ReportSender {
    store: Store,
    git_hosts: GitHosts,
    schedule: RetrySchedule,
    mint: Mint,
}

/// A run that is reported, with its work order.
#[derive(Clone, Copy)]
struct ReportSubject<'a> {
    order: &'a WorkOrder,
    run: &'a Run,
    kind: ReportKind,
    now: Timestamp,
}

/// Reason why an attempt did not post a report.
enum ReportFault {
    /// The forge may take it later, after this pause if it names one.
    Later(String, Option<Duration>),
    /// The forge refuses, or the organization cannot call it.
    Refused(String),
    /// The failure is not the forge's.
    Internal(Error),
}

impl From<Error> for ReportFault {
    fn from(error: Error) -> ReportFault {
        ReportFault::Internal(error)
    }
}

impl From<ForgeFault> for ReportFault {
    fn from(fault: ForgeFault) -> ReportFault {
        match fault {
            ForgeFault::Later(why) => ReportFault::Later(why, None),
            ForgeFault::Refused(why) => ReportFault::Refused(why),
            ForgeFault::Internal(error) => ReportFault::Internal(error),
        }
    }
}

impl From<Fault> for ReportFault {
    fn from(fault: Fault) -> ReportFault {
        match fault {
            Fault::Again(why, pause) => ReportFault::Later(why, pause),
            fault => ReportFault::Refused(fault.into_words()),
        }
    }
}

impl ReportSender {
    /// Reads the deployment's settings.
    ///
    /// # Errors
    /// When a setting is missing or not valid.
    pub fn new(cloud: &Cloud) -> Result<ReportSender, SetupError> {
        Ok(ReportSender {
            store: cloud.store()?,
            git_hosts: GitHosts::new(cloud)?,
            schedule: settings::webhook_schedule(&cloud.environment)?,
            mint: cloud.mint.clone(),
        })
    }

    /// Makes an attempt to post a report, unless another sender makes it.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails; the attempt is made again.
    pub async fn send(&self, report: &ReportRef, now: Timestamp) -> Result<(), Error> {
        let Some(attempt) = self.store.attempt_report(report, now).await? else {
            return Ok(());
        };
        let Some(run) = self.store.run(&report.org, &report.run_id).await? else {
            return self.store.end_report(&attempt, None).await;
        };
        let order = self.store.work_order(&report.org, &run.work_order_id);
        let Some(order) = order.await? else {
            return self.store.end_report(&attempt, None).await;
        };
        let subject = ReportSubject {
            order: &order,
            run: &run,
            kind: report.kind,
            now,
        };
        let posted = timeout(LIMIT, Box::pin(self.post(report, subject))).await;
        let late = |_| Err(ReportFault::Later("it took too long".to_owned(), None));
        self.settle(&attempt, posted.unwrap_or_else(late), now)
            .await
    }

    /// The report as it was posted; none if there is no place for it.
    async fn post(
        &self,
        report: &ReportRef,
        subject: ReportSubject<'_>,
    ) -> Result<Option<RunReport>, ReportFault> {
        let scope = TokenScope::Reports(match subject.kind {
            ReportKind::Check => "checks",
            ReportKind::Status => "statuses",
            ReportKind::Comment => "issues",
        });
        let (org, repository) = (&report.org, &subject.order.source.repository);
        let Some(access) = self
            .git_hosts
            .forge(org, repository, scope, subject.now)
            .await?
        else {
            let why = "the organization has no credential for the host, or the host is no forge";
            return Err(ReportFault::Refused(why.to_owned()));
        };
        match subject.kind {
            ReportKind::Check | ReportKind::Status => self.post_check(org, &access, subject).await,
            ReportKind::Comment => self.post_comment(org, &access, subject).await,
        }
    }

    async fn settle(
        &self,
        attempt: &ReportAttempt,
        posted: Result<Option<RunReport>, ReportFault>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let kind = attempt.report.kind;
        let (why, pause) = match posted {
            Ok(report) => return self.store.end_report(attempt, report.as_ref()).await,
            Err(ReportFault::Refused(why)) => return self.give_up(attempt, &why).await,
            Err(ReportFault::Later(why, pause)) => (why, pause),
            Err(ReportFault::Internal(error)) => {
                let run = &attempt.report.run_id;
                tracing::warn!(event = "report_not_made", %run, kind = kind.as_str(), %error, "a report to a forge could not be made");
                ("an internal error".to_owned(), None)
            }
        };
        // The bits of the middle: within a millisecond the others grow one by one.
        let random = self.mint.random(now) >> 8;
        let random = u64::try_from(random & u128::from(u64::MAX)).unwrap_or(0);
        match self
            .schedule
            .after(attempt.number, AttemptOutcome::Unanswered, now, random)
        {
            Next::Retry(next) => {
                let pause = pause.and_then(|pause| i64::try_from(pause.as_millis()).ok());
                let until = pause.map_or(next, |pause| next.max(now.plus_ms(pause)));
                let shown = RunReport::delayed(kind, &why);
                self.store.delay_report(attempt, &shown, until).await
            }
            Next::Delivered | Next::Abandoned | Next::Gone => self.give_up(attempt, &why).await,
        }
    }

    async fn give_up(&self, attempt: &ReportAttempt, why: &str) -> Result<(), Error> {
        let (run, kind) = (&attempt.report.run_id, attempt.report.kind);
        tracing::warn!(event = "report_given_up", %run, kind = kind.as_str(), why, "a report to a forge was given up");
        let failed = RunReport::failed(kind, why);
        self.store.end_report(attempt, Some(&failed)).await
    }
}
