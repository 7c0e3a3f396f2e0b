//! `POST /v1/work-orders`: a work order, its first run and its place in the queue, or nothing.

use std::sync::Arc;

use awo_cloud::queue::{Doorbell, RunQueue};
use awo_cloud::{Cloud, SetupError, settings};
use awo_domain::Error;
use awo_domain::profile::Profile;
use awo_domain::work_order::Order;
use awo_http::opening::Opening;
use awo_http::order::{Named, named_parent, named_profile, named_template, read_order};
use awo_http::shapes::WorkOrderShape;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::idempotency::IdempotentRequest;
use awo_store::tally::QueueLimits;
use awo_store::work_orders::Created;

struct State {
    store: Store,
    queue: RunQueue,
    limits: QueueLimits,
    opening: Opening,
}

/// The function `create-work-order`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        queue: cloud.run_queue()?,
        limits: settings::queue_limits(&cloud.environment)?,
        opening: Opening::new(cloud)?,
    };
    HttpFunction::keyed(cloud, &routes::CREATE_WORK_ORDER, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let (order, profile, depth) = match state.order(&call).await {
        Ok(read) => read,
        Err(error) => return answered_before(&state, &call, idempotent.as_ref(), error).await,
    };
    let new = state
        .opening
        .work_order(call.org(), order, &profile, depth, call.now)?;
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
            let bell = Doorbell::of(call.org());
            state.queue.ring_or_leave_to_sweep(&bell).await;
            Ok(answer)
        }
        Created::Replayed(first) => Ok(Answer::replayed(first.status, first.body)),
    }
}

impl State {
    /// What is asked, with what it names, and its depth.
    async fn order(&self, call: &Call) -> Result<(Order, Profile, u32), Error> {
        let (template, profile, parent) = (
            named_template(call.object()?),
            named_profile(call.object()?),
            named_parent(call.object()?),
        );
        let template = async {
            match template {
                Some(id) => self.store.template(call.org(), &id).await,
                None => Ok(None),
            }
        };
        let profile = async {
            match profile {
                Some(name) => self.store.resolved_profile(call.org(), &name).await,
                None => Ok(None),
            }
        };
        let parent = async {
            match parent {
                Some(id) => self.store.work_order(call.org(), &id).await,
                None => Ok(None),
            }
        };
        let (template, profile, parent) = tokio::try_join!(template, profile, parent)?;
        let named = Named {
            template: template.as_ref().map(|known| &known.template.content),
            profile,
            parent: parent.as_ref(),
        };
        let (order, profile) = read_order(call.object()?, &self.opening.defaults, named)?;
        Ok((order, profile, parent.map_or(0, |parent| parent.depth + 1)))
    }
}

/// The first answer to a body that was good once: its template or its profile may have changed
/// since.
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
