//! What `deliver-webhooks` is to do. A transaction that makes an errand necessary notes it when it
//! is committed; whoever called the handler sends what was noted before the answer leaves
//! (`awo_cloud::errands`), so that no handler can forget it. One that is lost, late or doubled does
//! no harm: the tables say what is true, and the sweep sends again what is overdue.

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
pub enum Errand {
    /// Look into the outbox of an organization.
    Outbox(OrgId),
    /// Look after a delivery.
    Delivery(DeliveryRef),
}

/// What was noted and not sent yet. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Errands(Arc<Mutex<BTreeSet<Errand>>>);

impl Errands {
    /// Notes errands; one that is noted already stays one.
    pub fn note(&self, errands: impl IntoIterator<Item = Errand>) {
        self.lock().extend(errands);
    }

    /// All of them, which are then no longer noted.
    #[must_use]
    pub fn take(&self) -> Vec<Errand> {
        std::mem::take(&mut *self.lock()).into_iter().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<Errand>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use awo_domain::Timestamp;
    use serde_json::json;

    #[test]
    fn an_errand_reads_as_it_is_written_and_is_noted_once() {
        let at = Timestamp::from_epoch_ms(0);
        let org_id = OrgId::new(at, 1);
        let delivery = DeliveryRef {
            org_id: org_id.clone(),
            webhook_id: WebhookId::new(at, 2),
            id: DeliveryId::new(at, 3),
        };
        let errands = Errands::default();
        let all = [Errand::Outbox(org_id.clone()), Errand::Delivery(delivery)];
        errands.note(all.clone());
        errands.clone().note(all.clone());
        assert_eq!(errands.take(), all);
        assert!(errands.take().is_empty());
        assert_eq!(json!(all[0]), json!({ "outbox": org_id }));
        for errand in all {
            let read: Errand = serde_json::from_value(json!(errand)).unwrap();
            assert_eq!(read, errand);
        }
    }
}
