//! `POST /v1/runs/{id}/cancel`: cancels the work order of its newest run.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::runs::input::CancelBody;
use awo_contract::runs::output::RunShape;
use awo_domain::stop::{Stop, StopKind};
use awo_domain::{Error, Resource, RunId};
use awo_execution::stopper::Stopper;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::runs::Run;

struct State {
    store: Store,
    stopper: Stopper,
}

/// The function `cancel-run`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        stopper: Stopper::new(cloud)?,
    };
    HttpFunction::keyed(cloud, &routes::CANCEL_RUN, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let stop = Stop {
        kind: StopKind::Cancel,
        reason: call.object_or_nothing()?.read(&CancelBody)?,
        requested_at: call.now,
    };
    let run = run(&state, &call, &id).await?;
    state.stopper.cancel_run(call.org(), &run, &stop).await?;
    Answer::ok(RunShape::from(&self::run(&state, &call, &id).await?))
}

async fn run(state: &State, call: &Call, id: &RunId) -> Result<Run, Error> {
    let run = state.store.run(call.org(), id).await?;
    run.ok_or(Error::NotFound(Resource::Run))
}
