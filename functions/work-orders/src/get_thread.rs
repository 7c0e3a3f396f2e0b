//! `GET /v1/threads/{id}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::work_orders::threads::ThreadShape;
use awo_domain::{Error, Resource, WorkOrderId};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::pull_requests::PullRequestRef;

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
    let pull_request = async {
        let delivered = turns.iter().rev();
        let mut delivered = delivered.filter_map(|turn| runs.get(&turn.run_id));
        let delivered = delivered.find(|run| run.branch.is_some());
        let url = thread.pull_request.as_ref();
        match url.or(delivered.and_then(|run| run.pr_url.as_ref())) {
            Some(url) => {
                let pull = PullRequestRef::of(&id, url);
                store.pull_request(call.org(), &pull).await
            }
            None => Ok(None),
        }
    };
    let (cost, pull_request) =
        tokio::try_join!(store.cost_of_turns(call.org(), &turns, &runs), pull_request)?;
    let pull_request = pull_request.as_ref();
    let shape = ThreadShape::of(&id, &thread, &turns, &runs, pull_request, cost);
    Answer::ok(shape)
}
