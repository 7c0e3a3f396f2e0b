//! `POST /v1/work-orders`: creates a work order, its first run and its queue entry, or nothing.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::work_orders::output::WorkOrderShape;
use awo_domain::Error;
use awo_execution::opening::{OpenOutcome, OpenRequest, Opener, Requester};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::engine::idempotency::IdempotentRequest;

struct State {
    store: Store,
    opener: Opener,
}

/// The function `create-work-order`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        opener: Opener::new(cloud)?,
    };
    HttpFunction::keyed(cloud, &routes::CREATE_WORK_ORDER, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let body = call.object().map(|body| state.opener.read(body));
    let body = match body {
        Ok(body) => body,
        Err(error) => {
            return answered_before(&state.store, &call, idempotent.as_ref(), error).await;
        }
    };
    let request = OpenRequest {
        org: call.org(),
        requester: Requester::Client(&call.caller.key_id),
        body,
        now: call.now,
    };
    let opened = state.opener.open_work_order(request, |new| {
        let (work_order, prompt) = (new.work_order(), &new.order.task_prompt);
        let answer = Answer::created(WorkOrderShape::of(&work_order, prompt))?;
        let response = call.response(idempotent.as_ref(), &answer);
        Ok((answer, response))
    });
    match opened.await? {
        OpenOutcome::Done { answer, outcome } => Ok(answer.unless_replayed(outcome)),
        OpenOutcome::Refused(error) => {
            answered_before(&state.store, &call, idempotent.as_ref(), error).await
        }
    }
}

/// The first answer to a body that was good once: its template or its profile may have changed
/// since.
async fn answered_before(
    store: &Store,
    call: &Call,
    request: Option<&IdempotentRequest>,
    error: Error,
) -> Result<Answer, Error> {
    let (Some(request), Error::Invalid(_)) = (request, &error) else {
        return Err(error);
    };
    let first = store.stored_response(call.org(), request, call.now);
    match first.await {
        Ok(Some(first)) => Ok(Answer::replayed(201, first)),
        Ok(None) | Err(Error::IdempotencyMismatch) => Err(error),
        Err(failed) => Err(failed),
    }
}
