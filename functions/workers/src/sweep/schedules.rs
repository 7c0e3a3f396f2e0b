//! Fires schedules whose time has come, and counts their work orders that have ended.

use futures::{StreamExt, stream};

use super::bounds::Bounds;
use super::{State, SweepReport};

/// Schedules that are read at once.
const PAGE: u32 = 100;

/// Handles what is due, oldest first, while there is time.
pub(super) async fn fire_due(state: &State, bounds: Bounds, swept: &mut SweepReport) {
    let now = state.clock.now();
    let mut after = None;
    while !bounds.are_over() {
        let page = match state.store.due_schedules(after.as_ref(), now, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                return swept.fail_to_read("sweep_schedules_query_failed", "schedules", &error);
            }
        };
        let fired = stream::iter(page.items)
            .take_while(|_| std::future::ready(!bounds.are_over()))
            .map(|(org, id)| async move {
                let fired = Box::pin(state.scheduler.sweep(&org, &id, now)).await;
                (id, fired)
            })
            .buffer_unordered(bounds.at_once);
        let fired: Vec<_> = fired.collect().await;
        for (id, fired) in fired {
            swept.count("sweep_schedule_failed", id.as_str(), fired);
        }
        after = page.next;
        if after.is_none() {
            return;
        }
    }
}
