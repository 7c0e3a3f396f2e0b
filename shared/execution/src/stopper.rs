//! Stops runs for clients. The stop request is recorded first, in one transaction with its effect
//! on the run; then the task is stopped, which only wakes the runner up. If anything is lost in
//! between, the sweep repeats it.

use std::time::{Duration, Instant};

use awo_cloud::compute::Compute;
use awo_cloud::{Clock, Cloud, SetupError};
use awo_domain::control::StopRequest;
use awo_domain::run::{RunEnd, RunStatus};
use awo_domain::stop::Stop;
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, OrgId, Resource, WorkOrderId};
use awo_store::capacity::call_permits::LongCall;
use awo_store::runs::Run;
use awo_store::runs::lifecycle::end::RunView;
use awo_store::runs::lifecycle::lease::Lease;
use awo_store::work_orders::WorkOrder;
use awo_store::work_orders::cascades::FamilyStop;
use awo_store::{Store, Tries};

use crate::deaths::{FIRST_QUESTION, LONGEST_QUESTION, grace_ms};
use crate::endings::{Endings, PaidUntil};

/// Stops runs.
#[derive(Debug, Clone)]
pub struct Stopper {
    pub(crate) store: Store,
    pub(crate) compute: Compute,
    pub(crate) clock: Clock,
    pub(crate) endings: Endings,
}

/// The outcome of a cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelOutcome {
    /// Its status before.
    pub was: WorkOrderStatus,
}

/// The outcome of a kill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KillOutcome {
    /// There was no process: it waited, or no runner had come.
    NothingRan,
    /// It had ended before, with this status of its work order.
    HadEnded(WorkOrderStatus),
    /// It is known to be dead.
    Dead {
        /// True if SIGKILL was needed.
        forced: bool,
        /// How long that took.
        took: Duration,
    },
    /// It is unknown whether it is dead.
    NotConfirmed {
        /// How long that was waited for.
        took: Duration,
    },
}

/// The outcome of recording a kill request.
pub(crate) enum KillTarget {
    /// No process of it is to be waited for.
    Over(KillOutcome),
    /// Its task has the request.
    Dies(Box<Lease>),
}

/// A work order, its newest run, and the run's lease while its slot is taken.
pub(crate) struct StopTarget {
    pub order: WorkOrder,
    pub run: Run,
    pub lease: Option<Lease>,
}

impl Stopper {
    /// By the environment's settings.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn new(cloud: &Cloud) -> Result<Stopper, SetupError> {
        Ok(Stopper {
            store: cloud.store()?,
            compute: cloud.compute()?,
            clock: cloud.clock.clone(),
            endings: Endings::new(cloud)?,
        })
    }

    /// Cancels a work order with its newest run: terminal when this returns, and its processes
    /// are being stopped.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Conflict`] if it is terminal, or internal.
    pub async fn cancel(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
        stop: &Stop,
    ) -> Result<CancelOutcome, Error> {
        let mut tries = Tries::new("cancel: the run kept changing");
        loop {
            tries.next().await?;
            let found = self.find(org, id).await?;
            let status = found.order.status;
            if status.is_terminal() {
                // A repeated request may follow one that could not stop the children.
                self.stop_family(org, &found.order).await;
                return Err(is_over("work order", status.as_str()));
            }
            if self.try_cancel(org, &found, &of_all(stop), false).await? {
                self.stop_family(org, &found.order).await;
                return Ok(CancelOutcome { was: status });
            }
        }
    }

    /// Cancels a run with its work order, whose newest it must be: an older one is over.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Conflict`] if it is terminal, or internal.
    pub async fn cancel_run(&self, org: &OrgId, run: &Run, stop: &Stop) -> Result<(), Error> {
        let mut tries = Tries::new("cancel: the run kept changing");
        loop {
            tries.next().await?;
            let found = self.find(org, &run.work_order_id).await?;
            let newest = found.run.run_id == run.run_id;
            if !newest || found.run.status.is_terminal() {
                let status = if newest {
                    found.run.status.as_str()
                } else {
                    "over"
                };
                return Err(is_over("run", status));
            }
            if self.try_cancel(org, &found, &of_all(stop), false).await? {
                self.stop_family(org, &found.order).await;
                return Ok(());
            }
        }
    }

    /// As [`Stopper::kill`], for a call that holds a function while it waits: without a permit to
    /// wait, the kill is requested all the same. `holder` is unique.
    ///
    /// # Errors
    /// As of [`Stopper::kill`], [`Error::KillUnderWay`] or [`Error::TooManyAtOnce`].
    pub async fn kill_for_caller(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
        stop_request: StopRequest,
        stopping: &FamilyStop<'_>,
        holder: &str,
    ) -> Result<KillOutcome, Error> {
        let began = Instant::now();
        let (order, target) = self.request_kill(org, id, stop_request, stopping).await?;
        let lease = match target {
            KillTarget::Dies(lease) => lease,
            KillTarget::Over(killed) => {
                self.stop_family(org, &order).await;
                return Ok(killed);
            }
        };
        let waiting = async {
            let call = LongCall::Kill {
                order: id,
                grace_ms: grace_ms(stop_request),
            };
            let now = self.clock.now();
            let permit = self.store.take_call_permit(org, call, holder, now).await?;
            let asks = if permit.is_first() {
                FIRST_QUESTION
            } else {
                LONGEST_QUESTION
            };
            let killed = self.see_dead(&lease, stop_request, (began, asks)).await;
            permit.give_back().await;
            killed
        };
        tokio::join!(waiting, self.stop_family(org, &order)).0
    }

    /// Kills the processes of a work order, and returns when they are known to be dead, or when
    /// that could not be known in time. Its children are killed as well if the client means them.
    ///
    /// # Errors
    /// [`Error::NotFound`], or internal.
    pub async fn kill(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
        stop_request: StopRequest,
        stopping: &FamilyStop<'_>,
    ) -> Result<KillOutcome, Error> {
        let began = Instant::now();
        let (order, target) = self.request_kill(org, id, stop_request, stopping).await?;
        let lease = match target {
            KillTarget::Dies(lease) => lease,
            KillTarget::Over(killed) => {
                self.stop_family(org, &order).await;
                return Ok(killed);
            }
        };
        let dead = self.see_dead(&lease, stop_request, (began, FIRST_QUESTION));
        tokio::join!(dead, self.stop_family(org, &order)).0
    }

    /// Records the kill request of a work order, and signals its task; it may be over by that.
    pub(crate) async fn request_kill(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
        stop_request: StopRequest,
        stopping: &FamilyStop<'_>,
    ) -> Result<(WorkOrder, KillTarget), Error> {
        let mut tries = Tries::new("kill: the run kept changing");
        loop {
            tries.next().await?;
            let found = self.find(org, id).await?;
            let status = found.order.status;
            if status.is_terminal() {
                self.escalate(&found).await?;
                return Ok((found.order, KillTarget::Over(KillOutcome::HadEnded(status))));
            }
            let waits = status == WorkOrderStatus::WaitingForChildren;
            let claimed = |lease: &&Lease| lease.token_hash.is_some() && !waits;
            let Some(lease) = found.lease.as_ref().filter(claimed) else {
                if self.try_cancel(org, &found, stopping, true).await? {
                    return Ok((found.order, KillTarget::Over(KillOutcome::NothingRan)));
                }
                continue;
            };
            if self
                .note_kill(lease, &found, stop_request, stopping)
                .await?
            {
                self.wake_task(lease).await;
                let lease = Box::new(lease.clone());
                return Ok((found.order, KillTarget::Dies(lease)));
            }
        }
    }

    pub(crate) async fn find(&self, org: &OrgId, id: &WorkOrderId) -> Result<StopTarget, Error> {
        let order = self.store.work_order(org, id).await?;
        let order = order.ok_or(Error::NotFound(Resource::WorkOrder))?;
        let (run, lease) = tokio::try_join!(
            self.store.run(org, &order.run_id),
            self.store.lease(org, &order.run_id)
        )?;
        // It goes with its work order, which was purged between the two readings.
        let run = run.ok_or(Error::NotFound(Resource::WorkOrder))?;
        Ok(StopTarget { order, run, lease })
    }

    /// False if it has changed meanwhile.
    pub(crate) async fn try_cancel(
        &self,
        org: &OrgId,
        found: &StopTarget,
        stopping: &FamilyStop<'_>,
        unclaimed: bool,
    ) -> Result<bool, Error> {
        let (order, run, now) = (&found.order, &found.run, self.clock.now());
        let waits = order.status == WorkOrderStatus::WaitingForChildren;
        if found.lease.is_none() && run.status == RunStatus::Queued {
            let waiting = self.store.cancel_waiting(org, (order, run), stopping, now);
            let is_canceled = waiting.await?;
            if is_canceled && order.terms.parent_id.is_none() {
                self.endings.wake_next_turn(org).await;
            }
            return Ok(is_canceled);
        }
        if found.lease.is_none() && !waits {
            return Ok(false);
        }
        let end = (RunEnd::Canceled, PaidUntil::End);
        let ending = self.endings.ending(run, found.lease.as_ref(), end, now);
        let seen = RunView {
            order,
            run,
            lease: found.lease.as_ref(),
            due_at: None,
        };
        let canceled = self
            .store
            .cancel_begun(org, &seen, &ending, *stopping, unclaimed, now)
            .await?;
        if let Some(lease) = found.lease.as_ref().filter(|_| canceled) {
            self.wake_task(lease).await;
        }
        Ok(canceled)
    }

    /// A stop request that is no stronger than one that stands is as good as granted.
    async fn note_kill(
        &self,
        lease: &Lease,
        found: &StopTarget,
        stop_request: StopRequest,
        stopping: &FamilyStop<'_>,
    ) -> Result<bool, Error> {
        if lease
            .stop_request
            .is_some_and(|old| !stop_request.is_stronger_than(old))
        {
            return Ok(true);
        }
        self.store
            .request_kill(
                lease,
                (&found.order, &found.run),
                stop_request,
                stopping,
                self.clock.now(),
            )
            .await
    }

    /// A run that is over, and whose processes are still being stopped, is not waited for any
    /// longer.
    async fn escalate(&self, found: &StopTarget) -> Result<(), Error> {
        let stopped = found.run.stop.is_some();
        if let Some(lease) = found.lease.as_ref().filter(|_| stopped) {
            let now_dead = StopRequest::Kill {
                grace_period_ms: 0,
                immediate: true,
            };
            self.store.hasten(lease, now_dead, self.clock.now()).await?;
            self.wake_task(lease).await;
        }
        Ok(())
    }

    pub(crate) async fn find_task(&self, lease: &Lease) -> Result<Option<String>, Error> {
        let (org, token) = (&lease.org_id, &lease.client_token);
        self.compute.find_task(org, token).await
    }

    /// Stops the task, so that its runner reads the stop request. A task that ECS does not know
    /// yet cannot be signaled; its runner's claim will be refused.
    pub(crate) async fn wake_task(&self, lease: &Lease) {
        let sent = async {
            let task = match &lease.task_arn {
                Some(task) => Some(task.clone()),
                None => self.find_task(lease).await?,
            };
            match task {
                Some(task) => self.compute.stop_task(&task, "stopped by a client").await,
                None => Ok(()),
            }
        };
        if let Err(error) = sent.await {
            tracing::warn!(event = "task_not_stopped", run = %lease.run_id, ?error, "the task could not be stopped; the sweep stops it");
        }
    }
}

/// A cancel that means the children, too.
fn of_all(stop: &Stop) -> FamilyStop<'_> {
    FamilyStop {
        stop,
        children: Some(StopRequest::Cancel),
    }
}

fn is_over(what: &str, status: &str) -> Error {
    Error::Conflict(format!(
        "this {what} is {status}: only one that has not ended can be canceled"
    ))
}
