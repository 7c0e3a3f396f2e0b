//! `POST /api/v1/work-orders/{id}/runs`: a new run of a waiting or failed work order; immediately,
//! if a slot is free and it is first in order.

use std::sync::Arc;

use awo_cloud::queue::WakeUp;
use awo_cloud::{Cloud, SetupError, settings};
use awo_domain::money::MicroCredits;
use awo_domain::queue::Waiting;
use awo_domain::run::RunStatus;
use awo_domain::work_order::WorkOrderEvent;
use awo_domain::{Error, Resource, RunId, Timestamp};
use awo_execution::dispatcher::{Dispatcher, first_in_turn};
use awo_http::shapes::StartedRunShape;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::engine::idempotency::IdempotentRequest;
use awo_store::runs::lifecycle::dispatch::{EntryItem, QueueState};
use awo_store::runs::lifecycle::lease::Lease;
use awo_store::runs::lifecycle::start::{NewRun, Place, Started};
use awo_store::work_orders::WorkOrder;

/// How often a start is tried that meets another change of work order or queue.
const START_TRIES: u32 = 6;

struct State {
    dispatcher: Dispatcher,
    hold: MicroCredits,
}

/// The function `start-run`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        dispatcher: Dispatcher::new(cloud)?,
        hold: settings::default_hold(&cloud.environment)?,
    };
    HttpFunction::keyed(cloud, &routes::START_RUN, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let (id, idempotent) = (call.work_order_id()?, call.idempotency()?);
    call.query().finish()?;
    call.object_or_nothing()?.finish(Some(()))?;
    let run_id = RunId::new(call.now, state.dispatcher.mint.random(call.now));
    for attempt in 0..START_TRIES {
        let store = &state.dispatcher.store;
        let order = store.work_order(call.org(), &id).await?;
        let order = order.ok_or(Error::NotFound(Resource::WorkOrder))?;
        if order.status.after(WorkOrderEvent::RunStarted).is_none() {
            return answered_before(&state, &call, idempotent.as_ref(), &order).await;
        }
        let environment = store.environment_of(call.org(), &order).await?;
        let order = order.in_environment(environment.as_ref())?;
        // Boxed: the calls below are deep, and the compiler lays out futures whole.
        let started = Box::pin(state.start(&call, &order, &run_id, idempotent.as_ref(), attempt));
        if let Some(answer) = started.await? {
            return Ok(answer);
        }
    }
    Err(Error::contended("start: the work order kept changing"))
}

/// A replay of the start that made the work order what it is now, or a conflict.
async fn answered_before(
    state: &State,
    call: &Call,
    request: Option<&IdempotentRequest>,
    order: &WorkOrder,
) -> Result<Answer, Error> {
    if let Some(request) = request {
        let store = &state.dispatcher.store;
        if let Some(first) = store.first_answer(call.org(), request, call.now).await? {
            return Ok(Answer::replayed(first.status, first.body));
        }
    }
    Err(Error::Conflict(format!(
        "this work order is {}: a run can be started only while it is queued or failed",
        order.status.as_str()
    )))
}

impl State {
    /// None if work order or queue were not as they were read.
    async fn start(
        &self,
        call: &Call,
        order: &WorkOrder,
        run_id: &RunId,
        request: Option<&IdempotentRequest>,
        attempt: u32,
    ) -> Result<Option<Answer>, Error> {
        let (org, dispatcher) = (call.org(), &self.dispatcher);
        let old = dispatcher.store.run(org, &order.run_id);
        let (old, queue, profile) = tokio::try_join!(
            old,
            dispatcher.store.queue(org),
            dispatcher.store.profile_of(org, order)
        )?;
        // It goes with its work order, which was purged between the two readings.
        let old = old.ok_or(Error::NotFound(Resource::WorkOrder))?;
        let ours = waiting(&queue, order, call.now);
        let free = queue.tally.free_slots(dispatcher.limits) > 0;
        let first = free && first_in_turn(&queue, Some(&ours)).as_ref() == Some(&order.id);
        if free && !first && attempt == 0 {
            // Whoever is before it goes first; then there may still be a slot.
            dispatcher.fill_slots_before(org, &ours).await?;
            return Ok(None);
        }
        let task_place = match first {
            true => Box::pin(dispatcher.place(org, run_id, call.now)).await?,
            false => None,
        };
        let secret = dispatcher.mint.secret();
        let lease = Lease {
            size: order.size,
            containers: order.containers.clone(),
            ..Lease::new(org, run_id, &order.id, secret, ours.enqueued_at, call.now)
        };
        let slot = |place| Place::Slot {
            lease: &lease,
            place,
            queue: &queue,
        };
        let (place, status) = match &task_place {
            Some(place) => (slot(place), RunStatus::Building),
            None => (Place::Queue, RunStatus::Queued),
        };
        let answer = answer_of(run_id, status, call.now)?;
        let new = NewRun {
            org,
            order,
            old: &old,
            run_id: run_id.clone(),
            hold: (order.limits.max_credits)
                .or(profile.execution_limits.max_credits)
                .unwrap_or(self.hold),
            waits: false,
            now: call.now,
        };
        match self.start_at(call, &new, &place, (request, answer)).await? {
            Outcome::WaitsForBudget => {
                let waits = NewRun { waits: true, ..new };
                let answer = answer_of(run_id, RunStatus::Queued, call.now)?;
                let started = self.start_at(call, &waits, &Place::Queue, (request, answer));
                match started.await? {
                    Outcome::Answer(answer) => Ok(Some(answer)),
                    Outcome::Changed | Outcome::WaitsForBudget => Ok(None),
                }
            }
            Outcome::Answer(answer) => Ok(Some(answer)),
            Outcome::Changed => Ok(None),
        }
    }

    /// Starts a run where it is said to begin, and asks for its task or wakes the dispatcher.
    async fn start_at(
        &self,
        call: &Call,
        new: &NewRun<'_>,
        place: &Place<'_>,
        (request, answer): (Option<&IdempotentRequest>, Answer),
    ) -> Result<Outcome, Error> {
        let dispatcher = &self.dispatcher;
        let remembered = request.map(|request| (request, call.rendered(&answer)));
        let started = dispatcher
            .store
            .start_run(new, place, dispatcher.limits, remembered)
            .await?;
        match (started, place) {
            (Started::Changed, _) => return Ok(Outcome::Changed),
            (Started::WaitsForBudget, _) => return Ok(Outcome::WaitsForBudget),
            (Started::Replayed(first), _) => {
                let first = Answer::replayed(first.status, first.body);
                return Ok(Outcome::Answer(first));
            }
            (Started::New, Place::Slot { lease, .. }) => {
                dispatcher.start_or_leave_to_sweep(lease, call.now).await;
            }
            (Started::New, Place::Queue) => {
                let wake_up = WakeUp::of(call.org());
                dispatcher.queue.wake_or_leave_to_sweep(&wake_up).await;
            }
        }
        Ok(Outcome::Answer(answer))
    }
}

/// What came of a start.
enum Outcome {
    Answer(Answer),
    /// Work order or queue were not as they were read.
    Changed,
    /// A budget does not cover it, and its runs wait.
    WaitsForBudget,
}

fn answer_of(run_id: &RunId, status: RunStatus, now: Timestamp) -> Result<Answer, Error> {
    Answer::created(StartedRunShape {
        run_id,
        status,
        started_at: now,
    })
}

/// The work order as it waits, or would if it came now.
fn waiting(queue: &QueueState, order: &WorkOrder, now: Timestamp) -> Waiting {
    let ours = |entry: &&EntryItem| entry.work_order_id == order.id;
    let entry = queue.entries.iter().find(ours);
    Waiting {
        work_order_id: order.id.clone(),
        tenant: order.tenant().to_owned(),
        enqueued_at: entry.map_or(now, |entry| entry.enqueued_at),
        waits_for_budget: false,
    }
}
