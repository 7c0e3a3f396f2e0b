//! `POST /v1/budgets`: from then on runs count, and what its period had before.

use std::sync::Arc;

use awo_cloud::Mint;
use awo_cloud::{Cloud, SetupError};
use awo_contract::budgets::input::BudgetBody;
use awo_contract::budgets::output::BudgetShape;
use awo_domain::{BudgetId, Error};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::engine::idempotency::RequestOutcome;
use awo_store::ledger::budgets::{BudgetStanding, NewBudget};

struct State {
    store: Store,
    mint: Mint,
}

/// The function `create-budget`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        mint: cloud.mint.clone(),
    };
    HttpFunction::keyed(cloud, &routes::CREATE_BUDGET, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let (org, now) = (call.org(), call.now);
    let new = NewBudget {
        id: BudgetId::new(now, state.mint.random(now)),
        content: call.object()?.read(&BudgetBody)?,
        now,
    };
    let rendered = |of: &BudgetStanding| {
        let answer = Answer::created(BudgetShape::of(of, now))?;
        Ok(call.rendered(&answer))
    };
    let idempotent = idempotent.as_ref().map(|request| (request, &rendered as _));
    // Boxed: the calls below are deep, and the compiler lays out futures whole.
    match Box::pin(state.store.create_budget(org, &new, idempotent)).await? {
        RequestOutcome::Replayed(first) => Ok(Answer::replayed(201, first)),
        RequestOutcome::New(of) => {
            let (key, content) = (&call.caller.key_id, &new.content);
            tracing::info!(event = "budget_created", %org, %key, budget = %new.id, ?content);
            Answer::created(BudgetShape::of(&of, now))
        }
    }
}
