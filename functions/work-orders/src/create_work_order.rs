//! `POST /v1/work-orders`: a work order, its first run and its place in the queue, or nothing.

use std::sync::Arc;

use awo_cloud::queue::RunQueue;
use awo_cloud::{Cloud, Mint, SetupError, settings};
use awo_domain::money::MicroCredits;
use awo_domain::profile::Profile;
use awo_domain::work_order::Order;
use awo_domain::{Error, RunId, WorkOrderId};
use awo_http::shapes::WorkOrderShape;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::idempotency::IdempotentRequest;
use awo_store::tally::QueueLimits;
use awo_store::work_orders::{Created, NewWorkOrder};

use crate::order::{Defaults, named_template, read_order};

struct State {
    store: Store,
    queue: RunQueue,
    mint: Mint,
    limits: QueueLimits,
    hold: MicroCredits,
    defaults: Defaults,
}

/// The function `create-work-order`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let environment = &cloud.environment;
    let state = State {
        store: cloud.store()?,
        queue: cloud.run_queue()?,
        mint: cloud.mint.clone(),
        limits: settings::queue_limits(environment)?,
        hold: settings::default_hold(environment)?,
        defaults: Defaults {
            agent: settings::default_agent(environment)?,
            allow_file_repositories: settings::allow_file_repositories(environment),
        },
    };
    HttpFunction::keyed(cloud, &routes::CREATE_WORK_ORDER, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let (order, profile) = match state.order(&call).await {
        Ok(read) => read,
        Err(error) => return answered_before(&state, &call, idempotent.as_ref(), error).await,
    };
    let new = new_work_order(&state, &call, order, &profile);
    let answer = Answer::created(WorkOrderShape::from(&new.work_order()))?;
    let remembered = idempotent
        .as_ref()
        .map(|request| (request, call.rendered(&answer)));
    match state
        .store
        .create_work_order(&new, state.limits, remembered)
        .await?
    {
        Created::New => {
            state.queue.ring_or_leave_to_sweep(call.org()).await;
            Ok(answer)
        }
        Created::Replayed(first) => Ok(Answer::replayed(first.status, first.body)),
    }
}

impl State {
    /// What is asked, with the template that it names.
    async fn order(&self, call: &Call) -> Result<(Order, Profile), Error> {
        let named = named_template(call.object()?);
        let template = match named {
            Some(id) => self.store.template(call.org(), &id).await?,
            None => None,
        };
        let content = template.as_ref().map(|known| &known.template.content);
        read_order(call.object()?, &self.defaults, content)
    }
}

/// The first answer to a body that was good once: its template may have changed since.
async fn answered_before(
    state: &State,
    call: &Call,
    request: Option<&IdempotentRequest>,
    error: Error,
) -> Result<Answer, Error> {
    let (Some(request), Error::Invalid(_)) = (request, &error) else {
        return Err(error);
    };
    let first = state.store.first_answer(call.org(), request, call.now);
    match first.await {
        Ok(Some(first)) => Ok(Answer::replayed(first.status, first.body)),
        Ok(None) | Err(Error::IdempotencyMismatch) => Err(error),
        Err(failed) => Err(failed),
    }
}

fn new_work_order(state: &State, call: &Call, order: Order, profile: &Profile) -> NewWorkOrder {
    let id = WorkOrderId::new(call.now, state.mint.random(call.now));
    NewWorkOrder {
        org: call.org().clone(),
        id,
        run_id: RunId::new(call.now, state.mint.random(call.now)),
        max_iterations: profile.max_iterations(order.max_iterations),
        hold: order.limits.max_credits.unwrap_or(state.hold),
        order,
        now: call.now,
    }
}
