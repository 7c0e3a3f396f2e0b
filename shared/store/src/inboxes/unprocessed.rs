//! Deliveries that wait for their processing. Each has an item of its own until it is processed, which is in the
//! index of due items; it is counted, and it fences: of two processors one settles the delivery.

use awo_domain::inbox::delivery::InboxDelivery;
use awo_domain::{Error, InboxDeliveryId, InboxId, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{DUE_INBOXES, SCHEMA_VERSION};
use crate::engine::item_kind::Table;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::sweep::{DueCursor, DueKey, DuePage};

/// The item of a delivery that waits for its processing.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UnprocessedItem {
    due_shard: String,
    /// When the sweep processes it, Unix milliseconds.
    due_at: i64,
    /// The number of times that processing ended in an error.
    attempts: u32,
    /// The number of writes.
    revision: u32,
    v: u32,
}

impl UnprocessedItem {
    /// An item that is due at once.
    pub fn new(now: Timestamp) -> UnprocessedItem {
        UnprocessedItem {
            due_shard: DUE_INBOXES.to_owned(),
            due_at: now.epoch_ms(),
            attempts: 0,
            revision: 1,
            v: SCHEMA_VERSION,
        }
    }
}

/// The ids of a delivery that waits for its processing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnprocessedRef {
    /// The owner.
    pub org_id: OrgId,
    /// The inbox.
    pub inbox_id: InboxId,
    /// The delivery.
    pub delivery_id: InboxDeliveryId,
}

impl UnprocessedRef {
    fn of(key: &DueKey) -> Option<UnprocessedRef> {
        let (org_id, _) = key.owner()?;
        let (inbox, delivery) = key.sk.split_once('#')?;
        Some(UnprocessedRef {
            org_id,
            inbox_id: InboxId::parse(inbox).ok()?,
            delivery_id: InboxDeliveryId::parse(delivery).ok()?,
        })
    }

    fn key(&self) -> Key {
        Key::unprocessed_delivery(&self.org_id, &self.inbox_id, &self.delivery_id)
    }
}

/// A delivery that waits for its processing, as it was read.
#[derive(Debug, Clone)]
pub struct UnprocessedDelivery {
    /// The ids of its organization, inbox and delivery.
    pub ids: UnprocessedRef,
    /// The number of times that processing ended in an error.
    pub attempts: u32,
    due_at: i64,
    revision: u32,
}

impl UnprocessedDelivery {
    /// The condition that it waits as it was read. A replay is due at another time.
    fn unchanged(&self) -> Change {
        Change::new()
            .when("revision", self.revision)
            .when("dueAt", self.due_at)
    }
}

impl Store {
    /// Deliveries whose processing is due.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn due_inbox_deliveries(
        &self,
        after: Option<&DueCursor>,
        now: Timestamp,
        limit: u32,
    ) -> Result<DuePage<UnprocessedRef>, Error> {
        let partition = (Table::Work, DUE_INBOXES.to_owned());
        let page = self.due_keys(partition, after, now, limit).await?;
        Ok(DuePage {
            items: page.items.iter().filter_map(UnprocessedRef::of).collect(),
            next: page.next,
        })
    }

    /// A delivery that is due; none if it waits for its processing no more, or not yet.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn unprocessed_delivery(
        &self,
        ids: &UnprocessedRef,
        now: Timestamp,
    ) -> Result<Option<UnprocessedDelivery>, Error> {
        let item: Option<UnprocessedItem> = self.get(&ids.key()).await?;
        let due = item.filter(|item| item.due_at <= now.epoch_ms());
        Ok(due.map(|item| UnprocessedDelivery {
            ids: ids.clone(),
            attempts: item.attempts,
            due_at: item.due_at,
            revision: item.revision,
        }))
    }

    /// Ends the processing of a delivery, whose log entry is written over unless it is gone; false if another
    /// processor was faster.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn settle_inbox_delivery(
        &self,
        read: &UnprocessedDelivery,
        settled: Option<&InboxDelivery>,
    ) -> Result<bool, Error> {
        let mut transaction = Transaction::new().delete(&read.ids.key(), read.unchanged());
        if let Some(delivery) = settled {
            transaction = transaction.log_delivery(&read.ids.org_id, delivery)?;
        }
        Ok(transaction.commit(self).await?.is_yes())
    }

    /// Has a delivery processed again at a time, after so many errors; false if another processor was faster.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn postpone_inbox_delivery(
        &self,
        read: &UnprocessedDelivery,
        delivery: &InboxDelivery,
        until: Timestamp,
        attempts: u32,
    ) -> Result<bool, Error> {
        let item = UnprocessedItem {
            due_at: until.epoch_ms(),
            attempts,
            revision: read.revision + 1,
            ..UnprocessedItem::new(until)
        };
        let postponed = Transaction::new()
            .put_when(&read.ids.key(), &item, read.unchanged())?
            .log_delivery(&read.ids.org_id, delivery)?
            .commit(self)
            .await?;
        Ok(postponed.is_yes())
    }
}
