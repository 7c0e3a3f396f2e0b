//! `PUT /v1/budgets/{id}`: replaces what is set of it. What waited for it may begin.

use std::sync::Arc;

use awo_cloud::queue::{RunQueue, WakeUp};
use awo_cloud::{Cloud, SetupError};
use awo_contract::budgets::input::BudgetBody;
use awo_contract::budgets::output::BudgetShape;
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

struct State {
    store: Store,
    queue: RunQueue,
}

/// The function `update-budget`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        queue: cloud.run_queue()?,
    };
    HttpFunction::keyed(cloud, &routes::UPDATE_BUDGET, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let content = call.object()?.read(&BudgetBody)?;
    let (org, now) = (call.org(), call.now);
    // Boxed: the calls below are deep, and the compiler lays out futures whole.
    let changed = Box::pin(state.store.change_budget(org, &id, &content, now)).await?;
    tracing::info!(event = "budget_changed", %org, key = %call.caller.key_id, budget = %id, ?content);
    let wake_up = WakeUp::of(org);
    state.queue.wake_or_leave_to_sweep(&wake_up).await;
    Answer::ok(BudgetShape::of(&changed, now))
}
