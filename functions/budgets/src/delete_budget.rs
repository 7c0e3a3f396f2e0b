//! `DELETE /v1/budgets/{id}`: nothing counts against it any more, and what waited for it may begin.

use std::sync::Arc;

use awo_cloud::queue::{RunQueue, WakeUp};
use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

struct State {
    store: Store,
    queue: RunQueue,
}

/// The function `delete-budget`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        queue: cloud.run_queue()?,
    };
    HttpFunction::keyed(cloud, &routes::DELETE_BUDGET, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    state.store.delete_budget(call.org(), &id).await?;
    tracing::info!(event = "budget_deleted", org = %call.org(), key = %call.caller.key_id, budget = %id);
    let wake_up = WakeUp::of(call.org());
    state.queue.wake_or_leave_to_sweep(&wake_up).await;
    Ok(Answer::no_content())
}
