//! The answer to a request that opens a work order: a create or a follow-up.

use awo_contract::work_orders::output::WorkOrderShape;
use awo_domain::Error;
use awo_execution::opening::{OpenOutcome, OpenRequest, Opener, RequestBody, Requester};
use awo_http::{Answer, Call};
use awo_store::Store;
use awo_store::engine::idempotency::IdempotentRequest;

/// Opens the work order of a body, or answers as the first such request was answered.
pub(crate) async fn open(
    store: &Store,
    opener: &Opener,
    call: &Call,
    idempotent: Option<&IdempotentRequest>,
    body: Result<RequestBody, Error>,
) -> Result<Answer, Error> {
    let body = match body {
        Ok(body) => body,
        Err(error) => return answered_before(store, call, idempotent, error).await,
    };
    let request = OpenRequest {
        org: call.org(),
        requester: Requester::Client(&call.caller.key_id),
        body,
        now: call.now,
    };
    let opened = opener.open_work_order(request, |new| {
        let (work_order, prompt) = (new.work_order(), &new.order.task_prompt);
        let answer = Answer::created(WorkOrderShape::of(&work_order, prompt, None))?;
        let response = call.response(idempotent, &answer);
        Ok((answer, response))
    });
    match opened.await? {
        OpenOutcome::Done { answer, outcome } => Ok(answer.unless_replayed(outcome)),
        OpenOutcome::Refused(error) => answered_before(store, call, idempotent, error).await,
    }
}

/// The first answer to a body that was good once: its template, its profile or its thread may have changed
/// since, or be gone.
async fn answered_before(
    store: &Store,
    call: &Call,
    request: Option<&IdempotentRequest>,
    error: Error,
) -> Result<Answer, Error> {
    let (Some(request), Error::Invalid(_) | Error::NoFollowUp(_) | Error::NotFound(_)) =
        (request, &error)
    else {
        return Err(error);
    };
    let first = store.stored_response(call.org(), request, call.now);
    match first.await {
        Ok(Some(first)) => Ok(Answer::replayed(201, first)),
        Ok(None) | Err(Error::IdempotencyMismatch) => Err(error),
        Err(failed) => Err(failed),
    }
}
