//! Keys of triggers, of what they created and of their subjects.

use awo_domain::{InboxDeliveryId, OrgId, TriggerId};

use super::{Key, Partition};
use crate::engine::item_kind::ItemKind;

impl Key {
    pub fn trigger(org: &OrgId, id: &TriggerId) -> Key {
        triggers(org).key(id.as_str())
    }

    pub fn trigger_count(org: &OrgId) -> Key {
        Key::new(ItemKind::TriggerCount, format!("{org}#triggers"), "count")
    }

    /// The work order of a trigger and a delivery, which so have one at most.
    pub fn trigger_order(org: &OrgId, trigger: &TriggerId, delivery: &InboxDeliveryId) -> Key {
        trigger_orders(org).key(format!("{trigger}#{delivery}"))
    }

    /// The state of a trigger for a subject, by the subject's hash.
    pub fn trigger_subject(org: &OrgId, trigger: &TriggerId, hash: &str) -> Key {
        trigger_subjects(org).key(format!("{trigger}#{hash}"))
    }
}

pub(crate) fn triggers(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Trigger, format!("{org}#trigger"))
}

pub(crate) fn trigger_orders(org: &OrgId) -> Partition {
    Partition::new(ItemKind::TriggerOrder, format!("{org}#trigger-order"))
}

pub(crate) fn trigger_subjects(org: &OrgId) -> Partition {
    Partition::new(ItemKind::TriggerSubject, format!("{org}#trigger-subject"))
}
