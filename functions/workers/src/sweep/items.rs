//! Due items of the work table: queues, leases, verifications, waiting parents, stops.

use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};
use awo_store::sweep::{Due, DueCursor, WaitingRef};
use futures::{StreamExt, stream};

use super::bounds::Bounds;
use super::part::ShardGroup;
use super::{State, SweepReport, leases};

/// Items of a shard that are read at once. The shards take turns, and a shard is read to its end while
/// there is time: items that fail keep none of those behind them.
const PAGE: u32 = 100;

/// Handles what is due in these shards.
pub(super) async fn handle_due(
    state: &State,
    group: ShardGroup,
    bounds: Bounds,
    swept: &mut SweepReport,
) {
    let now = state.clock.now();
    let mut open: Vec<(u8, Option<DueCursor>)> =
        group.shards().map(|shard| (shard, None)).collect();
    while !open.is_empty() {
        let mut left = Vec::new();
        for (shard, after) in open {
            if bounds.are_over() {
                return;
            }
            let page = match state.store.due(shard, after.as_ref(), now, PAGE).await {
                Ok(page) => page,
                Err(error) => {
                    swept.fail_to_read("sweep_query_failed", &format!("shard {shard}"), &error);
                    continue;
                }
            };
            left.extend(page.next.map(|next| (shard, Some(next))));
            let handled = stream::iter(page.items)
                .take_while(|_| std::future::ready(!bounds.are_over()))
                .map(|item| async move {
                    let handled = Box::pin(handle(state, &item, now)).await;
                    (item, handled)
                })
                .buffer_unordered(bounds.at_once);
            let handled: Vec<_> = handled.collect().await;
            for (item, handled) in handled {
                swept.count("sweep_item_failed", &format!("{item:?}"), handled);
            }
        }
        open = left;
    }
}

async fn handle(state: &State, item: &Due, now: Timestamp) -> Result<(), Error> {
    match item {
        Due::Queue(org) => waiting_queue(state, org, now).await,
        Due::Lease(org, run) => Box::pin(leases::overdue(state, org, run)).await,
        Due::Verification(org, permit) => state.verifier.handle(org, *permit, now).await,
        Due::Waiting(order) => waiting_order(state, order, now).await,
        Due::Cascade(org, order) => cascade(state, org, order).await,
        Due::Unknown(key) => Err(Error::internal(format!(
            "a due item of an unknown kind: {key}"
        ))),
    }
}

async fn waiting_queue(state: &State, org: &OrgId, now: Timestamp) -> Result<(), Error> {
    state.wake(org).await?;
    state.store.postpone_wake_up(org, now).await
}

async fn waiting_order(state: &State, order: &WaitingRef, now: Timestamp) -> Result<(), Error> {
    let (org, id) = (&order.org_id, &order.work_order_id);
    Box::pin(state.endings.wake_parent(org, id, now)).await?;
    state.store.postpone_children(order, now).await
}

/// A stop that was applied to all children since the index was written is done.
async fn cascade(state: &State, org: &OrgId, order: &WorkOrderId) -> Result<(), Error> {
    if let Some(cascade) = state.store.cascade(org, order).await? {
        state.stopper.cascade(cascade).await;
    }
    Ok(())
}
