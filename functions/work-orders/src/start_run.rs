//! `POST /api/v1/work-orders/{id}/runs`: a new run of a waiting or failed work order; immediately,
//! if a slot is free and it is first in order.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::runs::output::StartedRunShape;
use awo_domain::run::RunStatus;
use awo_domain::{Error, RunId, Timestamp};
use awo_execution::starter::{StartRequest, Starter};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::engine::idempotency::RequestOutcome;

/// The function `start-run`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::START_RUN, Starter::new(cloud)?, handle)
}

async fn handle(starter: Arc<Starter>, call: Call) -> Result<Answer, Error> {
    let (id, idempotent) = (call.path_id()?, call.idempotency()?);
    call.query().finish()?;
    call.object_or_nothing()?.finish(Some(()))?;
    let render = |run_id: &RunId, status| {
        answer(run_id, status, call.now).map(|answer| call.rendered(&answer))
    };
    let request = StartRequest {
        org: call.org(),
        work_order: &id,
        idempotent: idempotent.as_ref().map(|request| (request, &render as _)),
        now: call.now,
    };
    match starter.start(&request).await? {
        RequestOutcome::New((run_id, status)) => answer(&run_id, status, call.now),
        RequestOutcome::Replayed(first) => Ok(Answer::replayed(201, first)),
    }
}

fn answer(run_id: &RunId, status: RunStatus, now: Timestamp) -> Result<Answer, Error> {
    Answer::created(StartedRunShape {
        run_id,
        status,
        started_at: now,
    })
}
