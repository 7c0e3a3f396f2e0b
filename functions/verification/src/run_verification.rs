//! `POST /api/v1/verification/run`: runs plugins on a workspace immediately. Faults of the
//! workspace are reported before any byte of a response; the results may take time.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError, settings};
use awo_contract::verification::output::VerificationResultShape;
use awo_domain::Error;
use awo_execution::verifier::Verifier;
use awo_http::{Answer, Call, Reply, StreamingFunction, routes};
use awo_store::Store;
use awo_store::capacity::permits::MaxTasks;

use crate::request::{read_named, read_names, read_request};

struct State {
    store: Store,
    verifier: Verifier,
    max_tasks: MaxTasks,
}

/// The function `run-verification`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<StreamingFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        verifier: Verifier::new(cloud)?,
        max_tasks: settings::max_tasks(&cloud.environment)?,
    };
    StreamingFunction::keyed(cloud, &routes::RUN_VERIFICATION, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Reply, Error> {
    call.query().finish()?;
    let named = read_names(call.object()?);
    let known = read_named(&state.store, call.org(), &named).await?;
    let request = read_request(call.object()?, &known)?;
    // Boxed: the calls below are deep, and the compiler lays out futures whole.
    let begun = (state.verifier).begin(call.org(), request, state.max_tasks);
    let verification = Box::pin(begun).await?;
    Ok(Reply::late(async move {
        let result = state.verifier.result(&verification).await?;
        Answer::ok(VerificationResultShape::from(result))
    }))
}
