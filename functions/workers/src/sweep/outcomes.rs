//! Asks forges for the state of pull requests.

use futures::{StreamExt, stream};

use super::bounds::Bounds;
use super::{State, SweepReport};

/// Pull requests that are read at once.
const PAGE: u32 = 100;

/// Asks for what is due, oldest first, while there is time.
pub(super) async fn ask_due(state: &State, bounds: Bounds, swept: &mut SweepReport) {
    let now = state.clock.now();
    let mut after = None;
    while !bounds.are_over() {
        let due = state.store.due_pull_requests(after.as_ref(), now, PAGE);
        let page = match due.await {
            Ok(page) => page,
            Err(error) => {
                return swept.fail_to_read("sweep_outcomes_query_failed", "pull requests", &error);
            }
        };
        let answered = stream::iter(page.items)
            .take_while(|_| std::future::ready(!bounds.are_over()))
            .map(|(org, pull)| async move {
                let answer = Box::pin(state.pull_requests.check(&org, &pull, now)).await;
                (pull, answer)
            })
            .buffer_unordered(bounds.at_once);
        let answered: Vec<_> = answered.collect().await;
        for (pull, answer) in answered {
            swept.count("sweep_pull_request_failed", pull.thread_id.as_str(), answer);
        }
        after = page.next;
        if after.is_none() {
            return;
        }
    }
}
