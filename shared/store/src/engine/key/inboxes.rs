//! Keys of inboxes and of the deliveries to them.

use awo_domain::{InboxDeliveryId, InboxId, OrgId};

use super::{Key, Partition};
use crate::engine::item_kind::ItemKind;

impl Key {
    /// An inbox, which a sender names without its owner.
    pub fn inbox(id: &InboxId) -> Key {
        Key::new(ItemKind::Inbox, format!("inbox#{id}"), "inbox")
    }

    pub fn inbox_index(org: &OrgId, id: &InboxId) -> Key {
        inbox_indexes(org).key(id.as_str())
    }

    pub fn inbox_count(org: &OrgId) -> Key {
        Key::new(ItemKind::InboxCount, format!("{org}#inboxes"), "count")
    }

    /// A first answer that shows an inbox's secret: beside the inboxes, so that only roles that may read those
    /// can read it.
    pub fn inbox_answer(org: &OrgId, hash: &str) -> Key {
        Key::new(
            ItemKind::SecretResponse,
            format!("{org}#inbox-answer"),
            hash,
        )
    }

    pub fn inbox_delivery(org: &OrgId, inbox: &InboxId, id: &InboxDeliveryId) -> Key {
        inbox_deliveries(org, inbox).key(id.as_str())
    }

    /// The mark of a delivery, by what makes another one its duplicate.
    pub fn delivery_mark(org: &OrgId, inbox: &InboxId, mark: &str) -> Key {
        delivery_marks(org, inbox).key(mark)
    }

    pub fn unprocessed_delivery(org: &OrgId, inbox: &InboxId, id: &InboxDeliveryId) -> Key {
        unprocessed_deliveries(org).key(format!("{inbox}#{id}"))
    }
}

pub(crate) fn inbox_indexes(org: &OrgId) -> Partition {
    Partition::new(ItemKind::InboxIndex, format!("{org}#inbox"))
}

/// Partition of the deliveries to an inbox.
pub(crate) fn inbox_deliveries(org: &OrgId, inbox: &InboxId) -> Partition {
    Partition::new(ItemKind::InboxDelivery, format!("{org}#{inbox}#received"))
}

/// Partition of the marks of deliveries to an inbox.
pub(crate) fn delivery_marks(org: &OrgId, inbox: &InboxId) -> Partition {
    Partition::new(ItemKind::DeliveryMark, format!("{org}#{inbox}#seen"))
}

/// Partition of an organization's deliveries that wait for their processing.
pub(crate) fn unprocessed_deliveries(org: &OrgId) -> Partition {
    Partition::new(ItemKind::UnprocessedDelivery, format!("{org}#unprocessed"))
}
