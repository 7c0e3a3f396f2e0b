//! What runners report: events under their own numbers, each taken once and in order, and the
//! end of the run. Every write is conditional on the lease's token, so that a runner that lost
//! its lease changes nothing.

use awo_domain::control::NumberedEvent;
use awo_domain::control::RunnerEvent;
use awo_domain::event::{Lifecycle, meaning};
use awo_domain::run::{RunEvent, RunStatus};
use awo_domain::{Error, OrgId, RunId, Timestamp};

use crate::Store;
use crate::change::Change;
use crate::item::{Key, runs_with};
use crate::lease::{SILENCE_MS, held, lease_lost};
use crate::moves::after_run;
use crate::runs::Run;
use crate::settlement::{End, Ender, Ending};
use crate::transaction::{Guard, Transaction};

/// Who reports, on what.
#[derive(Debug, Clone)]
pub struct Reporter {
    /// The owner.
    pub org: OrgId,
    /// The run.
    pub run_id: RunId,
    /// SHA-256 of the runner's token.
    pub token_hash: String,
}

/// How often a report is tried again that met another one of the same run.
const REPORT_TRIES: u32 = 3;

/// The run as it is after some events, and the events to tell.
struct Progress {
    run: Run,
    started: bool,
    reported: u64,
    told: Vec<(&'static str, serde_json::Value)>,
}

impl Progress {
    /// Takes the events that are new, in order; a gap ends the taking.
    fn of(run: &Run, reported: u64, events: &[NumberedEvent]) -> Result<Progress, Error> {
        let mut progress = Progress {
            run: run.clone(),
            started: false,
            reported,
            told: Vec::new(),
        };
        for numbered in events {
            if numbered.number == progress.reported + 1 {
                progress.take(&numbered.event)?;
                progress.reported += 1;
            }
        }
        progress.run.last_sequence += progress.told.len() as u64;
        Ok(progress)
    }

    fn take(&mut self, event: &RunnerEvent) -> Result<(), Error> {
        let means = meaning(event);
        if matches!(event, RunnerEvent::IterationStarted { .. })
            && self.run.status == RunStatus::Building
        {
            self.run.status = after_run(self.run.status, RunEvent::AgentStarted)?;
            self.started = true;
            let started_at = self.run.started_at.unwrap_or(self.run.created_at);
            self.told.push(Lifecycle::Started { started_at }.to_parts());
        }
        match event {
            RunnerEvent::WorkspaceReady { work_dir, .. } => {
                self.run.work_dir = Some(work_dir.clone())
            }
            RunnerEvent::Committed { commit, .. } => self.run.commit = Some(commit.clone()),
            _ => {}
        }
        self.run.phase = means.phase.or(self.run.phase);
        self.run.iteration = means.iteration.unwrap_or(self.run.iteration);
        self.told.push((means.kind, means.data));
        Ok(())
    }
}

impl Store {
    /// Keeps a runner's events; the highest number that is kept now.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the lease is lost, or internal.
    pub async fn report(
        &self,
        by: &Reporter,
        events: &[NumberedEvent],
        now: Timestamp,
    ) -> Result<u64, Error> {
        for _ in 0..REPORT_TRIES {
            let (run, reported) = self.held_run(by).await?;
            let progress = Progress::of(&run, reported, events)?;
            if progress.reported == reported {
                return self
                    .heartbeat(&by.org, &by.run_id, &by.token_hash, now)
                    .await;
            }
            let lease = held(&by.token_hash)
                .set("reported", progress.reported)
                .set("dueAt", now.plus_ms(SILENCE_MS).epoch_ms())
                .when("reported", reported);
            let work = &self.tables.work;
            let mut transaction = Transaction::new()
                .update(Guard::Lease, work, &Key::lease(&by.org, &by.run_id), lease)?
                .update(
                    Guard::Run,
                    work,
                    &Key::run(&by.org, &by.run_id),
                    moved(&by.org, &run, &progress.run),
                )?;
            if progress.started {
                let tally = Change::new().count_run(Some(run.status), progress.run.status);
                transaction =
                    transaction.update(Guard::Tally, work, &Key::tally(&by.org), tally)?;
            }
            transaction = self.tell_all(transaction, &by.org, &run, &progress, now)?;
            if transaction.commit(self).await?.is_yes() {
                return Ok(progress.reported);
            }
        }
        Err(Error::internal("report: the run kept changing"))
    }

    /// Ends a run as its runner says, with the events that it has not reported yet. Saying it
    /// again after it was done is answered as the first time.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the lease is lost, or internal.
    pub async fn finish(
        &self,
        by: &Reporter,
        events: &[NumberedEvent],
        ending: impl Fn(&Run) -> Result<Ending, Error>,
        now: Timestamp,
    ) -> Result<u64, Error> {
        for _ in 0..REPORT_TRIES {
            let (stored, reported) = match self.held_run(by).await {
                Ok(held) => held,
                Err(error) => return self.finished_before(by, error).await,
            };
            let progress = Progress::of(&stored, reported, events)?;
            let ender = Ender::Runner {
                token_hash: &by.token_hash,
                reported,
                now_reported: progress.reported,
            };
            let ending = ending(&progress.run)?;
            let end = End {
                org: &by.org,
                stored: &stored,
                run: &progress.run,
                ending: &ending,
                ender: &ender,
                now,
            };
            let transaction =
                self.tell_all(Transaction::new(), &by.org, &stored, &progress, now)?;
            if end.add_to(transaction, self)?.commit(self).await?.is_yes() {
                return Ok(progress.reported);
            }
        }
        Err(Error::internal("finish: the run kept changing"))
    }

    /// A finish that came twice: the first one closed the lease under this very token.
    async fn finished_before(&self, by: &Reporter, error: Error) -> Result<u64, Error> {
        match self.lease(&by.org, &by.run_id).await? {
            Some(lease)
                if lease.token_hash.as_deref() == Some(&by.token_hash)
                    && lease.closed_at.is_some() =>
            {
                let run = self.run(&by.org, &by.run_id).await?;
                if run.is_some_and(|run| run.status.is_terminal()) {
                    Ok(lease.reported)
                } else {
                    Err(error)
                }
            }
            _ => Err(error),
        }
    }

    /// The run and the highest kept number, if the reporter holds the lease.
    async fn held_run(&self, by: &Reporter) -> Result<(Run, u64), Error> {
        let (lease, run) = tokio::try_join!(
            self.lease(&by.org, &by.run_id),
            self.run(&by.org, &by.run_id)
        )?;
        let lease = lease
            .filter(|l| l.closed_at.is_none() && l.token_hash.as_deref() == Some(&by.token_hash));
        match (lease, run) {
            (Some(lease), Some(run)) => Ok((run, lease.reported)),
            _ => Err(lease_lost()),
        }
    }

    fn tell_all(
        &self,
        mut transaction: Transaction,
        org: &OrgId,
        run: &Run,
        progress: &Progress,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        for (sequence, told) in (run.last_sequence + 1..).zip(&progress.told) {
            transaction = transaction.tell(self, &run.subject(org), sequence, told.clone(), now)?;
        }
        Ok(transaction)
    }
}

/// The change from one state of a run to a later one.
fn moved(org: &OrgId, from: &Run, to: &Run) -> Change {
    Change::new()
        .set("status", to.status)
        .set("statusKey", runs_with(org, to.status))
        .set("iteration", to.iteration)
        .set("lastSequence", to.last_sequence)
        .set_some("phase", to.phase)
        .set_some("workDir", to.work_dir.as_ref())
        .set_some("commit", to.commit.as_ref())
        .when("status", from.status)
        .when("lastSequence", from.last_sequence)
}
