//! Processes deliveries to inboxes.

use futures::{StreamExt, stream};

use super::bounds::Bounds;
use super::{State, SweepReport};

/// Deliveries that are read at once.
const PAGE: u32 = 100;

/// Processes what is due, oldest first, while there is time.
pub(super) async fn process_due(state: &State, bounds: Bounds, swept: &mut SweepReport) {
    let now = state.clock.now();
    let mut after = None;
    while !bounds.are_over() {
        let due = state.store.due_inbox_deliveries(after.as_ref(), now, PAGE);
        let page = match due.await {
            Ok(page) => page,
            Err(error) => {
                return swept.fail_to_read("sweep_inboxes_query_failed", "deliveries", &error);
            }
        };
        let processed = stream::iter(page.items)
            .take_while(|_| std::future::ready(!bounds.are_over()))
            .map(|ids| async move {
                let processed = Box::pin(state.processor.process(&ids, now)).await;
                (ids.delivery_id, processed)
            })
            .buffer_unordered(bounds.at_once);
        let processed: Vec<_> = processed.collect().await;
        for (id, processed) in processed {
            swept.count("sweep_delivery_failed", id.as_str(), processed);
        }
        after = page.next;
        if after.is_none() {
            return;
        }
    }
}
