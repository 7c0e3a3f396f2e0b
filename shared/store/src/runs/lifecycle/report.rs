//! Runners' reports: events under their own numbers, each accepted once and in order. Every write
//! is conditional on the lease's token, so a runner that lost its lease changes nothing.

use awo_domain::control::{NumberedEvent, Report, ReportAnswer, RunnerEvent};
use awo_domain::event::{Lifecycle, TimelineEventType, meaning};
use awo_domain::run::{RunEvent, RunStatus};
use awo_domain::run_report::{ReportKind, RunReport};
use awo_domain::usage::{PricedUsage, sum_by_model};
use awo_domain::verification::VerificationOutcome;
use awo_domain::{Error, OrgId, RunId, SnapshotId, Timestamp};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::runs_with;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::engine::tries::Tries;
use crate::runs::Run;
use crate::runs::audit::EffectiveProfile;
use crate::runs::lifecycle::lease::{Lease, SILENCE_MS, held, lease_lost};
use crate::runs::lifecycle::transitions::after_run;

/// The reporting runner and its run.
#[derive(Debug, Clone)]
pub struct Reporter {
    /// The owner.
    pub org: OrgId,
    /// The run.
    pub run_id: RunId,
    /// SHA-256 of the runner's token.
    pub token_hash: String,
}

/// How a reporter stands to its run.
pub(crate) enum LeaseStanding {
    /// It holds the lease.
    Holds(Box<Run>, Box<Lease>),
    /// A client has stopped the run, and its last report may still come.
    Stopped(Box<Run>, Box<Lease>),
    /// Its reports no longer count.
    Lost(Option<Box<Lease>>, Option<Box<Run>>),
}

/// The run as it is after some events, and the events to append.
pub(crate) struct Progress {
    pub run: Run,
    used: Vec<PricedUsage>,
    started: bool,
    /// The iteration that begins, if one does.
    begins: Option<u32>,
    pub reported: u64,
    appended: Vec<(TimelineEventType, serde_json::Value)>,
}

impl Progress {
    /// Takes the events that are new, in order; a gap ends the taking.
    pub fn of(run: &Run, reported: u64, events: &[NumberedEvent]) -> Result<Progress, Error> {
        let mut progress = Progress {
            run: run.clone(),
            used: Vec::new(),
            started: false,
            begins: None,
            reported,
            appended: Vec::new(),
        };
        for numbered in events {
            if numbered.number == progress.reported + 1 {
                progress.take(&numbered.event)?;
                progress.run.waits(&numbered.event, numbered.at);
                progress.reported += 1;
            }
        }
        progress.run.last_sequence += progress.appended.len() as u64;
        if !progress.used.is_empty() {
            progress.run.usage = sum_by_model(run.usage.iter().chain(&progress.used));
        }
        Ok(progress)
    }

    /// Takes over the profile of the iteration that begins.
    fn take_over(&mut self, taken: &EffectiveProfile) {
        let run = &mut self.run;
        run.max_iterations = taken.max_iterations;
        let head = taken.snapshot.as_ref().map(|(_, head)| head.clone());
        run.audit = head.or(run.audit.take());
        run.report_kinds = taken.configuration.profile.git_ops.reports();
        // The commit of an agent's run is not there before it is delivered.
        if taken.is_verify {
            let mut kinds = run.report_kinds.iter();
            let check = kinds.find(|kind| **kind != ReportKind::Comment);
            run.check_report = check.map(|kind| RunReport::pending(*kind));
        }
    }

    /// Logs the wait for the run's first agent, if that starts, and its share for a slot.
    fn log_start(&self, now: Timestamp) {
        if self.started {
            let since = |at: Timestamp| (now.epoch_ms() - at.epoch_ms()) as f64 / 1_000.0;
            let seconds = since(self.run.created_at);
            let queued = seconds - self.run.started_at.map_or(0.0, since);
            tracing::info!(event = "first_agent_started", run = %self.run.run_id, seconds, queued, "first agent started");
        }
    }

    fn take(&mut self, event: &RunnerEvent) -> Result<(), Error> {
        let means = meaning(event);
        if matches!(event, RunnerEvent::IterationStarted { .. })
            && self.run.status == RunStatus::Building
        {
            self.run.status = after_run(self.run.status, RunEvent::AgentStarted)?;
            self.started = true;
            let started_at = self.run.started_at.unwrap_or(self.run.created_at);
            self.appended
                .push(Lifecycle::Started { started_at }.to_parts());
        }
        match event {
            RunnerEvent::WorkspaceReady {
                work_dir, commit, ..
            } => {
                self.run.work_dir = Some(work_dir.clone());
                self.run.base.get_or_insert_with(|| commit.clone());
            }
            RunnerEvent::Committed { commit, .. } => self.run.commit = Some(commit.clone()),
            RunnerEvent::VerificationFinished {
                verified,
                tests_changed,
                gate,
                overall_status,
                evidence,
                tests,
                baseline,
                ..
            } => {
                self.run.gate.clone_from(gate);
                self.run.baseline.clone_from(baseline);
                self.run.verified = *verified;
                self.run.verification = Some(VerificationOutcome {
                    status: *overall_status,
                    evidence: *evidence,
                    tests: *tests,
                });
                self.run.tests_changed.clone_from(tests_changed);
            }
            RunnerEvent::IterationStarted { iteration } => self.begins = Some(*iteration),
            RunnerEvent::AgentFinished { usage, .. } => self.used.extend(usage.iter().cloned()),
            _ => {}
        }
        self.run.phase = means.phase.or(self.run.phase);
        self.run.iteration = means.iteration.unwrap_or(self.run.iteration);
        self.appended.push((means.kind, means.data));
        Ok(())
    }
}

impl Store {
    /// Stores a runner's events, and whether client code has started. With the start of an iteration the run takes over its profile as
    /// it is now; if that has changed, it is audited under this id, in the same transaction.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the lease is lost, or internal.
    pub async fn report(
        &self,
        by: &Reporter,
        report: &Report,
        snapshot_id: &SnapshotId,
        now: Timestamp,
    ) -> Result<ReportAnswer, Error> {
        let mut tries = Tries::new("report: the run kept changing");
        loop {
            tries.next().await?;
            let (run, lease) = match self.standing(by).await? {
                LeaseStanding::Holds(run, lease) => (run, lease),
                LeaseStanding::Stopped(_, lease) => {
                    if report.executed {
                        self.note_executed(&lease, now).await?;
                    }
                    return Ok(lease.answer());
                }
                LeaseStanding::Lost(..) => return Err(lease_lost()),
            };
            let mut progress = Progress::of(&run, lease.reported, &report.events)?;
            if progress.reported == lease.reported {
                return self.reported_before(by, &run, report, now).await;
            }
            let taken = match progress.begins {
                None => None,
                Some(iteration) => {
                    let taken = self.take_profile(&by.org, &run, iteration, snapshot_id, now);
                    Some(taken.await?)
                }
            };
            if let Some(taken) = &taken {
                progress.take_over(taken);
            }
            let change = held(&by.token_hash)
                .set("reported", progress.reported)
                .set("heardAt", now)
                .executed(report.executed, now)
                .when("reported", lease.reported)
                .when_option("stopRequest", lease.stop_request)
                .when_webhooks(!lease.no_webhooks);
            // Once a client wants the run to stop, the deadline of that counts.
            let change = match lease.stop_request {
                None if lease.keeps_deadline(now) => change,
                None => change
                    .set("dueAt", now.plus_ms(SILENCE_MS).epoch_ms())
                    .remove("suspectedAt"),
                Some(_) => change,
            };
            let mut transaction = Transaction::of_lease(&lease)
                .update(&Key::lease(&by.org, &by.run_id), change)
                .update(
                    &Key::run(&by.org, &by.run_id),
                    moved(&by.org, &run, &progress.run),
                );
            if progress.started {
                let tally = Change::new().count_run(Some(run.status), progress.run.status);
                transaction = transaction.update(&Key::tally(&by.org), tally);
            }
            if let Some(news) = taken.as_ref().and_then(|taken| taken.snapshot.as_ref()) {
                transaction = transaction.audit((&by.org, &by.run_id), news)?;
            }
            if let Some(report) = progress.run.begun_check(&run) {
                transaction = transaction.report(&by.org, &by.run_id, report.kind, now);
            }
            transaction = self.append_events(transaction, &by.org, &run, &progress, now)?;
            if transaction.commit(self).await?.is_yes() {
                progress.log_start(now);
                return Ok(ReportAnswer {
                    acknowledged: progress.reported,
                    stop_request: lease.stop_request,
                    configuration: taken.map(|taken| Box::new(taken.configuration)),
                });
            }
        }
    }

    /// Answers events that are stored already, as the first time: effective for an iteration is what
    /// was audited at its start, whatever the profile is by now.
    async fn reported_before(
        &self,
        by: &Reporter,
        run: &Run,
        report: &Report,
        now: Timestamp,
    ) -> Result<ReportAnswer, Error> {
        let heartbeat = self.heartbeat(by, report.executed, now);
        let begins = report.events.iter().any(|numbered| {
            matches!(numbered.event, RunnerEvent::IterationStarted { iteration } if iteration == run.iteration)
        });
        let mut answer = heartbeat.await?;
        if begins {
            answer.configuration = self.taken_profile(&by.org, run).await?;
        }
        Ok(answer)
    }

    /// The run of a reporter that holds its lease.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the lease is lost, or internal.
    pub async fn held_run(&self, by: &Reporter) -> Result<Run, Error> {
        match self.standing(by).await? {
            LeaseStanding::Holds(run, _) => Ok(*run),
            LeaseStanding::Stopped(..) | LeaseStanding::Lost(..) => Err(lease_lost()),
        }
    }

    /// How a reporter stands to its run now.
    pub(crate) async fn standing(&self, by: &Reporter) -> Result<LeaseStanding, Error> {
        let (lease, run) = tokio::try_join!(
            self.lease(&by.org, &by.run_id),
            self.run(&by.org, &by.run_id)
        )?;
        Ok(match (lease.map(Box::new), run.map(Box::new)) {
            (Some(lease), Some(run)) if lease.is_held_by(&by.token_hash) => {
                match (lease.closed_at, lease.stop_request) {
                    (None, _) => LeaseStanding::Holds(run, lease),
                    (Some(_), Some(_)) => LeaseStanding::Stopped(run, lease),
                    (Some(_), None) => LeaseStanding::Lost(Some(lease), Some(run)),
                }
            }
            (lease, run) => LeaseStanding::Lost(lease, run),
        })
    }

    pub(crate) fn append_events(
        &self,
        mut transaction: Transaction,
        org: &OrgId,
        run: &Run,
        progress: &Progress,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        for (sequence, event) in (run.last_sequence + 1..).zip(&progress.appended) {
            transaction =
                transaction.append_event(self, &run.subject(org), sequence, event.clone(), now)?;
        }
        Ok(transaction)
    }
}

/// The change from one state of a run to a later one.
impl Run {
    /// The check that is to be posted since the run was as before.
    fn begun_check(&self, before: &Run) -> Option<&RunReport> {
        let check = self.check_report.as_ref();
        check.filter(|_| self.check_report != before.check_report)
    }
}

fn moved(org: &OrgId, from: &Run, to: &Run) -> Change {
    Change::new()
        .set("status", to.status)
        .set("statusKey", runs_with(org, to.status))
        .set("iteration", to.iteration)
        .set("lastSequence", to.last_sequence)
        .set("usage", &to.usage)
        .set("maxIterations", to.max_iterations)
        .set_some(
            "reportKinds",
            (to.report_kinds != from.report_kinds).then_some(&to.report_kinds),
        )
        .set_some("checkReport", to.begun_check(from))
        .set("verified", to.verified)
        .set_some("verification", to.verification)
        .set("testsChanged", &to.tests_changed)
        .set_or_remove("gate", to.gate.as_ref())
        .set_or_remove("baseline", to.baseline.as_ref())
        .set("waitedMs", to.waited_ms)
        .set_or_remove("waitsSince", to.waits_since)
        .set_some("audit", to.audit.as_ref())
        .set_some("phase", to.phase)
        .set_some("workDir", to.work_dir.as_ref())
        .set_some("commit", to.commit.as_ref())
        .set_some("base", to.base.as_ref())
        .when("status", from.status)
        .when("lastSequence", from.last_sequence)
}
