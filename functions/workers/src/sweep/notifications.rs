//! Resends notifications for `deliver-webhooks` that were not processed in time: whatever happened
//! to their messages, no event and no delivery is lost.

use std::collections::BTreeSet;

use awo_domain::{Error, Timestamp};
use awo_store::sweep::DueCursor;
use awo_store::webhooks::notifications::Notification;
use awo_store::webhooks::outbox::OverdueItem;
use futures::{TryStreamExt, stream};

use super::bounds::Bounds;
use super::part::ShardGroup;
use super::{State, SweepReport};

/// Overdue notifications of a shard that are read at once; the shards take turns.
const PAGE: u32 = 100;
/// When a delivery's message is sent once more that was sent again in vain.
const AGAIN_MS: i64 = 5 * 60_000;

/// Sends what is overdue in these shards, while there is time.
pub(super) async fn send_again(
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
            let item = format!("shard {shard} of notifications");
            let page = state
                .store
                .overdue_notifications(shard, after.as_ref(), now, PAGE);
            let page = match page.await {
                Ok(page) => page,
                Err(error) => {
                    swept.fail_to_read("sweep_notifications_query_failed", &item, &error);
                    continue;
                }
            };
            left.extend(page.next.map(|next| (shard, Some(next))));
            let count = u32::try_from(page.items.len()).unwrap_or(u32::MAX);
            swept.due += count;
            if let Err(error) = send(state, page.items, bounds, now).await {
                swept.fail("sweep_notifications_failed", &item, &error);
            }
        }
        open = left;
    }
}

async fn send(
    state: &State,
    overdue: Vec<OverdueItem>,
    bounds: Bounds,
    now: Timestamp,
) -> Result<(), Error> {
    let notification = |overdue: &OverdueItem| match overdue {
        OverdueItem::Delivery { at, .. } => Notification::Delivery(at.clone()),
        OverdueItem::Event { org_id } => Notification::Outbox(org_id.clone()),
    };
    let notifications: BTreeSet<Notification> = overdue.iter().map(notification).collect();
    let notifications: Vec<Notification> = notifications.into_iter().collect();
    state.notifications.send(&notifications).await?;
    // After they were sent: a crash in between sends them twice.
    stream::iter(overdue.into_iter().map(Ok))
        .try_for_each_concurrent(bounds.at_once, |overdue| async move {
            match overdue {
                OverdueItem::Delivery { at, due_at } => {
                    let again_at = now.plus_ms(AGAIN_MS);
                    state.store.postpone_delivery(&at, due_at, again_at).await
                }
                OverdueItem::Event { .. } => Ok(()),
            }
        })
        .await
}
