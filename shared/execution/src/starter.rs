//! Starts a new run of a work order that waits or has failed: in a slot if one is free and it is the
//! work order's turn, else in the queue.

use std::collections::HashSet;

use awo_cloud::queue::WakeUp;
use awo_cloud::{Cloud, SetupError, settings};
use awo_domain::money::MicroCredits;
use awo_domain::queue::WaitingEntry;
use awo_domain::run::RunStatus;
use awo_domain::work_order::WorkOrderEvent;
use awo_domain::{Error, OrgId, Resource, RunId, Timestamp, WorkOrderId};
use awo_store::Tries;
use awo_store::engine::idempotency::{IdempotentRequest, NewResponse, RequestOutcome};
use awo_store::runs::lifecycle::dispatch::{EntryItem, QueueState};
use awo_store::runs::lifecycle::lease::Lease;
use awo_store::runs::lifecycle::start::{Beginning, NewRun, StartOutcome};
use awo_store::work_orders::WorkOrder;

use crate::dispatcher::{Dispatcher, first_in_turn};

/// Starts runs.
#[derive(Debug, Clone)]
pub struct Starter {
    dispatcher: Dispatcher,
    hold: MicroCredits,
}

/// A request for a new run.
pub struct StartRequest<'a> {
    /// The owner.
    pub org: &'a OrgId,
    /// The work order.
    pub work_order: &'a WorkOrderId,
    /// The request's idempotency, with the response to store for its replays.
    pub idempotent: Option<(&'a IdempotentRequest, RenderStart<'a>)>,
    /// When it was requested.
    pub now: Timestamp,
}

/// Makes the body of the response to a start, of a run that begins in this status.
pub type RenderStart<'a> = &'a (dyn Fn(&RunId, RunStatus) -> Result<String, Error> + Sync);

/// A new run, with the status in which it begins.
pub type NewestRun = (RunId, RunStatus);

impl Starter {
    /// Reads the deployment's settings.
    ///
    /// # Errors
    /// When a setting is missing or not valid.
    pub fn new(cloud: &Cloud) -> Result<Starter, SetupError> {
        Ok(Starter {
            dispatcher: Dispatcher::new(cloud)?,
            hold: settings::default_hold(&cloud.environment)?,
        })
    }

    /// Starts a run.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] if the work order neither waits nor has failed, or keeps
    /// changing; the store's refusals; internal.
    pub async fn start(
        &self,
        request: &StartRequest<'_>,
    ) -> Result<RequestOutcome<NewestRun>, Error> {
        let (store, org) = (&self.dispatcher.store, request.org);
        let run_id = RunId::new(request.now, self.dispatcher.mint.random(request.now));
        let mut tries = Tries::new("start: the work order kept changing");
        loop {
            let attempt = tries.next().await?;
            let order = store.work_order(org, request.work_order).await?;
            let order = order.ok_or(Error::NotFound(Resource::WorkOrder))?;
            if order.status.after(WorkOrderEvent::RunStarted).is_none() {
                return self.answered_before(request, &order).await;
            }
            let environment = store.environment_of(org, &order).await?;
            let order = order.in_environment(environment.as_ref())?;
            // Boxed: the calls below are deep, and the compiler lays out futures whole.
            let started = Box::pin(self.start_once(request, &order, &run_id, attempt));
            if let Some(newest) = started.await? {
                return Ok(newest);
            }
        }
    }

    /// A repeated start finds the run that the first one started: its work order cannot start another.
    async fn answered_before(
        &self,
        request: &StartRequest<'_>,
        order: &WorkOrder,
    ) -> Result<RequestOutcome<NewestRun>, Error> {
        if let Some((idempotent, _)) = request.idempotent {
            let store = &self.dispatcher.store;
            let first = store.stored_response(request.org, idempotent, request.now);
            if let Some(first) = first.await? {
                return Ok(RequestOutcome::Replayed(first));
            }
        }
        Err(Error::Conflict(format!(
            "this work order is {}: a run can be started only while it is queued or failed",
            order.status.as_str()
        )))
    }

    /// None if work order or queue were not as they were read.
    async fn start_once(
        &self,
        request: &StartRequest<'_>,
        order: &WorkOrder,
        run_id: &RunId,
        attempt: u32,
    ) -> Result<Option<RequestOutcome<NewestRun>>, Error> {
        let (org, now, dispatcher) = (request.org, request.now, &self.dispatcher);
        let old = dispatcher.store.run(org, &order.run_id);
        let (old, queue, profile) = tokio::try_join!(
            old,
            dispatcher.store.queue(org),
            dispatcher.store.profile_of(org, order)
        )?;
        // It goes with its work order, which was purged between the two readings.
        let old = old.ok_or(Error::NotFound(Resource::WorkOrder))?;
        let ours = waiting(&queue, order, now);
        let free = queue.tally.free_slots(dispatcher.limits) > 0;
        let thread = dispatcher.thread_of(&queue, org, order).await?;
        let none = HashSet::new();
        let first = free
            && thread.is_some()
            && first_in_turn(&queue, Some(&ours), &none).as_ref() == Some(&order.id);
        if free && thread.is_some() && !first && attempt == 0 {
            // Earlier entries go first; then there may still be a slot.
            dispatcher.fill_slots_before(org, &ours).await?;
            return Ok(None);
        }
        let permit = if first {
            Box::pin(dispatcher.free_permit(org, run_id, now)).await?
        } else {
            None
        };
        let secret = dispatcher.mint.secret();
        let lease = Lease {
            size: order.size,
            containers: order.containers.clone(),
            ..Lease::new(org, run_id, &order.id, secret, ours.enqueued_at, now)
        };
        let beginning = match (&permit, &thread) {
            (Some(permit), Some(thread)) => Beginning::InSlot {
                lease: &lease,
                permit,
                thread,
                queue: &queue,
            },
            _ => Beginning::Queued,
        };
        let new = NewRun {
            org,
            order,
            old: &old,
            run_id: run_id.clone(),
            hold: (profile.max_credits(order.terms.limits.max_credits)).unwrap_or(self.hold),
            waits: false,
            now,
        };
        match self.begin(request, &new, &beginning).await? {
            StartOutcome::WaitsForBudget => {
                let waits = NewRun { waits: true, ..new };
                match self.begin(request, &waits, &Beginning::Queued).await? {
                    StartOutcome::Done(newest) => Ok(Some(newest)),
                    StartOutcome::Changed | StartOutcome::WaitsForBudget => Ok(None),
                }
            }
            StartOutcome::Done(newest) => Ok(Some(newest)),
            StartOutcome::Changed => Ok(None),
        }
    }

    /// Writes the run, and requests its task or wakes the dispatcher.
    async fn begin(
        &self,
        request: &StartRequest<'_>,
        new: &NewRun<'_>,
        beginning: &Beginning<'_>,
    ) -> Result<StartOutcome<NewestRun>, Error> {
        let (dispatcher, now) = (&self.dispatcher, request.now);
        let status = match beginning {
            Beginning::InSlot { .. } => RunStatus::Building,
            Beginning::Queued => RunStatus::Queued,
        };
        let response = match request.idempotent {
            Some((request, render)) => Some(NewResponse {
                request,
                body: render(&new.run_id, status)?,
            }),
            None => None,
        };
        let started = dispatcher
            .store
            .start_run(new, beginning, dispatcher.limits, response.as_ref())
            .await?;
        match (started, beginning) {
            (StartOutcome::Changed, _) => return Ok(StartOutcome::Changed),
            (StartOutcome::WaitsForBudget, _) => return Ok(StartOutcome::WaitsForBudget),
            (StartOutcome::Done(RequestOutcome::Replayed(first)), _) => {
                return Ok(StartOutcome::Done(RequestOutcome::Replayed(first)));
            }
            (StartOutcome::Done(RequestOutcome::New(())), Beginning::InSlot { lease, .. }) => {
                dispatcher.start_or_leave_to_sweep(lease, now).await;
            }
            (StartOutcome::Done(RequestOutcome::New(())), Beginning::Queued) => {
                let wake_up = WakeUp::of(request.org);
                dispatcher.queue.wake_or_leave_to_sweep(&wake_up).await;
            }
        }
        let newest = (new.run_id.clone(), status);
        Ok(StartOutcome::Done(RequestOutcome::New(newest)))
    }
}

fn waiting(queue: &QueueState, order: &WorkOrder, now: Timestamp) -> WaitingEntry {
    let ours = |entry: &&EntryItem| entry.work_order_id == order.id;
    let entry = queue.entries.iter().find(ours);
    WaitingEntry {
        work_order_id: order.id.clone(),
        tenant: order.tenant().to_owned(),
        enqueued_at: entry.map_or(now, |entry| entry.enqueued_at),
        waits_for_budget: false,
    }
}
