//! Notifications for `deliver-webhooks`. A transaction that requires a notification records it at
//! its commit; the handler's caller sends what was recorded before the response leaves
//! (`awo_cloud::notifications`), so that no handler can omit it. A lost, late or duplicate one does
//! no harm: the tables have the state, and the sweep resends overdue ones.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use awo_domain::{DeliveryId, OrgId, WebhookId};
use serde::{Deserialize, Serialize};

/// Where a delivery is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryRef {
    /// The owner.
    pub org_id: OrgId,
    /// To whom.
    pub webhook_id: WebhookId,
    /// Its id.
    pub id: DeliveryId,
}

/// A message of the deliveries queue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Notification {
    /// Read the outbox of an organization.
    Outbox(OrgId),
    /// Handle a delivery.
    Delivery(DeliveryRef),
}

/// What was noted and not sent yet. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Notifications(Arc<Mutex<BTreeSet<Notification>>>);

impl Notifications {
    /// Notes notifications; one that is noted already stays one.
    pub fn note(&self, notifications: impl IntoIterator<Item = Notification>) {
        self.lock().extend(notifications);
    }

    /// All of them, which are then no longer noted.
    #[must_use]
    pub fn take(&self) -> Vec<Notification> {
        std::mem::take(&mut *self.lock()).into_iter().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<Notification>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use awo_domain::Timestamp;
    use serde_json::json;

    #[test]
    fn a_notification_reads_as_it_is_written_and_is_noted_once() {
        let at = Timestamp::from_epoch_ms(0);
        let org_id = OrgId::new(at, 1);
        let delivery = DeliveryRef {
            org_id: org_id.clone(),
            webhook_id: WebhookId::new(at, 2),
            id: DeliveryId::new(at, 3),
        };
        let notifications = Notifications::default();
        let all = [
            Notification::Outbox(org_id.clone()),
            Notification::Delivery(delivery),
        ];
        notifications.note(all.clone());
        notifications.clone().note(all.clone());
        assert_eq!(notifications.take(), all);
        assert!(notifications.take().is_empty());
        assert_eq!(json!(all[0]), json!({ "outbox": org_id }));
        for notification in all {
            let read: Notification = serde_json::from_value(json!(notification)).unwrap();
            assert_eq!(read, notification);
        }
    }
}
