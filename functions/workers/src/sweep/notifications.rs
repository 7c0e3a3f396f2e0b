//! Resends notifications for `deliver-webhooks` that were not processed in time: whatever happened
//! to their messages, no event and no delivery is lost.

use std::collections::BTreeSet;

use awo_domain::{Error, Timestamp};
use awo_store::webhooks::notifications::Notification;
use awo_store::webhooks::outbox::OverdueItem;

use super::{State, SweepReport};

/// Most overdue notifications of a shard in one sweep; the next one takes the rest.
const MAX_OVERDUE: u32 = 500;
/// When a delivery's message is sent once more that was sent again in vain.
const AGAIN_MS: i64 = 5 * 60_000;

/// Sends what is overdue.
pub(super) async fn send_again(state: &State, now: Timestamp, swept: &mut SweepReport) {
    let overdue = match state.store.overdue_notifications(now, MAX_OVERDUE).await {
        Ok(overdue) => overdue,
        Err(error) => {
            tracing::error!(
                event = "sweep_notifications_query_failed",
                ?error,
                "the sweep could not query which notifications are overdue"
            );
            swept.failed += 1;
            return;
        }
    };
    let count = u32::try_from(overdue.len()).unwrap_or(u32::MAX);
    swept.due += count;
    if let Err(error) = send(state, overdue, now).await {
        tracing::error!(
            event = "sweep_notifications_failed",
            ?error,
            "the sweep could not send overdue notifications again"
        );
        swept.failed += count;
    }
}

async fn send(state: &State, overdue: Vec<OverdueItem>, now: Timestamp) -> Result<(), Error> {
    let notification = |overdue: &OverdueItem| match overdue {
        OverdueItem::Delivery { at, .. } => Notification::Delivery(at.clone()),
        OverdueItem::Event { org_id } => Notification::Outbox(org_id.clone()),
    };
    let notifications: BTreeSet<Notification> = overdue.iter().map(notification).collect();
    let notifications: Vec<Notification> = notifications.into_iter().collect();
    state.notifications.send(&notifications).await?;
    // After they were sent: a crash in between sends them twice.
    for overdue in overdue {
        if let OverdueItem::Delivery { at, due_at } = overdue {
            let again_at = now.plus_ms(AGAIN_MS);
            let later = state.store.postpone_delivery(&at, due_at, again_at);
            later.await?;
        }
    }
    Ok(())
}
