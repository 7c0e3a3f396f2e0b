//! Deletes what purges have left.

use awo_domain::{Error, OrgId, WorkOrderId};
use futures::{StreamExt, stream};

use super::bounds::Bounds;
use super::{State, SweepReport};

/// Purges that are read at once.
const PAGE: u32 = 100;

/// Deletes what is due, oldest first, while there is time.
pub(super) async fn erase(state: &State, bounds: Bounds, swept: &mut SweepReport) {
    let now = state.clock.now();
    let mut after = None;
    while !bounds.are_over() {
        let page = match state.store.due_purges(after.as_ref(), now, PAGE).await {
            Ok(page) => page,
            Err(error) => return swept.fail_to_read("sweep_purges_query_failed", "purges", &error),
        };
        let erased = stream::iter(page.items)
            .take_while(|_| std::future::ready(!bounds.are_over()))
            .map(|(org, first)| async move {
                let erased = erase_one(state, &org, &first).await;
                (first, erased)
            })
            .buffer_unordered(bounds.at_once);
        let erased: Vec<_> = erased.collect().await;
        for (first, erased) in erased {
            swept.count("sweep_purge_failed", first.as_str(), erased);
        }
        after = page.next;
        if after.is_none() {
            return;
        }
    }
}

async fn erase_one(state: &State, org: &OrgId, first: &WorkOrderId) -> Result<(), Error> {
    match state.store.purge_record(org, first).await? {
        Some(record) => state.store.erase(&record).await.map(|_| ()),
        None => Ok(()),
    }
}
