//! Confirms that the processes of a run have ended: its task's event returns the lease, and ECS is
//! polled as well.

use std::time::{Duration, Instant};

use awo_cloud::compute::TaskState;
use awo_domain::control::StopRequest;
use awo_domain::run::{RunErrorCode, RunStatus};
use awo_domain::stop::CONFIRM_MS;
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, OrgId, Resource, RunId};
use awo_store::runs::lifecycle::lease::Lease;

use crate::stopper::{KillOutcome, Stopper};

/// First and longest pause between two readings of the lease of a run that is to die: its task's
/// event gives it back.
const FIRST_LOOK: Duration = Duration::from_millis(4);
const LONGEST_LOOK: Duration = Duration::from_millis(100);
/// First and longest pause between two questions to ECS, which limits how often it is asked.
pub(crate) const FIRST_QUESTION: Duration = Duration::from_millis(20);
pub(crate) const LONGEST_QUESTION: Duration = Duration::from_secs(5);

/// How long a kill waits for the task of a run whose runner has confirmed that nothing is alive.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// The time that the processes have to end by themselves.
pub(crate) fn grace_ms(stop_request: StopRequest) -> u64 {
    match stop_request {
        StopRequest::Kill {
            grace_period_ms,
            immediate: false,
        } => grace_period_ms,
        _ => 0,
    }
}

impl Stopper {
    /// Waits until the task is gone, and settles what that means. ECS is asked first after the
    /// time that is given.
    pub(crate) async fn see_dead(
        &self,
        lease: &Lease,
        stop_request: StopRequest,
        (began, first_question): (Instant, Duration),
    ) -> Result<KillOutcome, Error> {
        let limit = Duration::from_millis(grace_ms(stop_request) + CONFIRM_MS);
        let (mut pause, mut patience) = (FIRST_LOOK, first_question);
        let mut asked_at = began;
        while began.elapsed() < limit {
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(LONGEST_LOOK);
            let ask = asked_at.elapsed() >= patience;
            if ask {
                asked_at = Instant::now();
                patience = (patience * 2).min(LONGEST_QUESTION);
            }
            match self.is_gone(lease, ask).await {
                Ok(true) => {
                    let took = began.elapsed();
                    self.until_its_task_ends(lease).await;
                    return self.how_it_died(lease, took).await;
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(event = "task_query_failed", run = %lease.run_id, ?error, "the state of a stopping task could not be read");
                }
            }
        }
        self.endings
            .kill_not_confirmed(lease, None, self.clock.now())
            .await?;
        Ok(KillOutcome::NotConfirmed {
            took: began.elapsed(),
        })
    }

    /// True once its compute is known to be gone and its slot is returned, by whomever; with
    /// `ask`, ECS is asked as well.
    pub(crate) async fn is_gone(&self, lease: &Lease, ask: bool) -> Result<bool, Error> {
        let Some(lease) = self.store.lease(&lease.org_id, &lease.run_id).await? else {
            return Ok(true);
        };
        if lease.dead_at.is_some() && self.reported_dead(&lease).await? {
            return Ok(true);
        }
        if !ask {
            return Ok(false);
        }
        let task = match &lease.task_arn {
            Some(task) => task.clone(),
            None => {
                let found = self.find_task(&lease).await?;
                match found {
                    Some(task) => task,
                    // Its start was not recorded: its end will come by its event, or the sweep.
                    None => return Ok(false),
                }
            }
        };
        let TaskState::Gone(gone) = self.compute.describe_task(&task).await? else {
            return Ok(false);
        };
        let now = self.clock.now();
        self.endings.compute_gone(&lease, &gone, now).await?;
        Ok(true)
    }

    /// Returns the slot of a run whose runner has confirmed in its last report that nothing of it is alive.
    /// What its task still does holds nothing; it is stopped, so that it does not run for ever. False if
    /// the runner has not confirmed so, or its task is not known: the task's event comes.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn reported_dead(&self, lease: &Lease) -> Result<bool, Error> {
        let (Some(_), Some(_), Some(task)) = (lease.closed_at, lease.dead_at, &lease.task_arn)
        else {
            return Ok(false);
        };
        self.compute.stop_task(task, "the run is over").await?;
        self.endings.return_slot(lease, self.clock.now()).await?;
        Ok(true)
    }

    /// As [`Stopper::reported_dead`]; what goes wrong is left to the task's event and the sweep.
    pub async fn reported_dead_or_leave_to_sweep(&self, org: &OrgId, run: &RunId) {
        let returned = async {
            match self.store.lease(org, run).await? {
                Some(lease) => self.reported_dead(&lease).await,
                None => Ok(true),
            }
        };
        if let Err(error) = returned.await {
            tracing::warn!(event = "slot_not_returned", %run, ?error, "the slot of an ended run could not be returned; the sweep returns it");
        }
    }

    /// A runner that has sent its last report is mostly gone in a moment: a search for it after a kill
    /// should not find it. In the cloud that takes too long to wait for.
    async fn until_its_task_ends(&self, lease: &Lease) {
        let Some(task) = &lease.task_arn else {
            return;
        };
        let (began, mut pause) = (Instant::now(), FIRST_QUESTION);
        while began.elapsed() < LAST_MOMENT {
            match self.compute.describe_task(task).await {
                Ok(TaskState::Alive(_)) => tokio::time::sleep(pause).await,
                Ok(TaskState::Gone(_)) | Err(_) => return,
            }
            pause *= 2;
        }
    }

    async fn how_it_died(&self, lease: &Lease, took: Duration) -> Result<KillOutcome, Error> {
        let run = self.store.run(&lease.org_id, &lease.run_id).await?;
        // Dead, and purged since by somebody else.
        let run = run.ok_or(Error::NotFound(Resource::WorkOrder))?;
        let killed = run
            .error
            .as_ref()
            .is_some_and(|error| error.code == RunErrorCode::Killed);
        Ok(match run.status {
            RunStatus::Canceled => KillOutcome::Dead {
                forced: false,
                took,
            },
            RunStatus::Failed if killed => KillOutcome::Dead { forced: true, took },
            RunStatus::Succeeded => KillOutcome::HadEnded(WorkOrderStatus::Succeeded),
            _ => KillOutcome::HadEnded(WorkOrderStatus::Failed),
        })
    }
}
