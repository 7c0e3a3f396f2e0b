//! `GET /v1/threads/{id}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::work_orders::threads::ThreadShape;
use awo_domain::{Error, Resource, WorkOrderId};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-thread`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_THREAD, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id: WorkOrderId = call.path_id()?;
    call.query().finish()?;
    let thread = store.thread(call.org(), &id).await?;
    let turns = store.turns(call.org(), &id, &thread).await?;
    // The id of a later turn is none of a thread, and a child has none.
    let is_of_thread = |turn: &awo_store::work_orders::WorkOrder| {
        *turn.thread_id() == id && turn.terms.parent_id.is_none()
    };
    if turns.is_empty() || !turns.iter().all(is_of_thread) {
        return Err(Error::NotFound(Resource::WorkOrder));
    }
    let runs = store.newest_runs(call.org(), &turns).await?;
    let cost = store.cost_of_turns(call.org(), &turns, &runs).await?;
    Answer::ok(ThreadShape::of(&id, &thread, &turns, &runs, cost))
}
