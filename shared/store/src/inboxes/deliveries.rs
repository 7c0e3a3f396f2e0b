//! Deliveries to inboxes. A delivery is stored in one transaction with what makes another one its duplicate, and
//! with the item by which the sweep processes it.

use awo_domain::inbox::delivery::{InboxDelivery, InboxOutcome};
use awo_domain::inbox::{DELIVERIES_KEPT_MS, DUPLICATES_MS};
use awo_domain::{Error, InboxDeliveryId, InboxId, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use super::unprocessed::UnprocessedItem;
use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, inbox_deliveries, unprocessed_deliveries};
use crate::engine::list::{Page, Slice};
use crate::engine::table::read;
use crate::engine::transaction::{CommitOutcome, Transaction};

/// A delivery as it is stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeliveryItem {
    #[serde(flatten)]
    delivery: InboxDelivery,
    /// Unix seconds after which DynamoDB may remove it.
    ttl: i64,
    v: u32,
}

impl DeliveryItem {
    fn of(delivery: &InboxDelivery) -> DeliveryItem {
        let expires = delivery.received_at.plus_ms(DELIVERIES_KEPT_MS);
        DeliveryItem {
            delivery: delivery.clone(),
            ttl: expires.epoch_seconds(),
            v: SCHEMA_VERSION,
        }
    }
}

/// The mark by which a later delivery is a duplicate.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MarkItem {
    delivery_id: InboxDeliveryId,
    /// Unix milliseconds after which it no longer counts.
    expires_at_ms: i64,
    /// Unix seconds after which DynamoDB may remove it.
    ttl: i64,
    v: u32,
}

/// The outcome of storing a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreOutcome {
    /// The delivery is stored.
    New,
    /// The delivery was stored before, under this id.
    Duplicate(InboxDeliveryId),
}

/// The page of a list of deliveries that is read.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryWindow<'a> {
    /// Only those of this outcome.
    pub outcome: Option<InboxOutcome>,
    /// The size of the page.
    pub limit: u32,
    /// The number of deliveries before it.
    pub skip: u32,
    /// The delivery before it.
    pub after: Option<&'a InboxDeliveryId>,
    /// The present time.
    pub now: Timestamp,
}

impl Store {
    /// The number of the organization's deliveries that wait for their processing.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn count_unprocessed(&self, org: &OrgId) -> Result<u64, Error> {
        self.count(&Slice::of_partition(unprocessed_deliveries(org)))
            .await
    }

    /// Stores a delivery, to be processed at once. `mark` makes a later one its duplicate.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails; nothing was written.
    pub async fn store_inbox_delivery(
        &self,
        org: &OrgId,
        delivery: &InboxDelivery,
        mark: Option<&str>,
    ) -> Result<StoreOutcome, Error> {
        let (inbox, now) = (&delivery.inbox_id, delivery.received_at);
        let key = Key::inbox_delivery(org, inbox, &delivery.id);
        let mut transaction = Transaction::new()
            .put(&key, &DeliveryItem::of(delivery))?
            .put(
                &Key::unprocessed_delivery(org, inbox, &delivery.id),
                &UnprocessedItem::new(now),
            )?;
        if let Some(mark) = mark {
            let expires = now.plus_ms(DUPLICATES_MS);
            let item = MarkItem {
                delivery_id: delivery.id.clone(),
                expires_at_ms: expires.epoch_ms(),
                ttl: expires.epoch_seconds() + 1,
                v: SCHEMA_VERSION,
            };
            let free = Change::new().at_most_or_missing("expiresAtMs", now.epoch_ms());
            transaction =
                transaction.put_when(&Key::delivery_mark(org, inbox, mark), &item, free)?;
        }
        let refusals = match transaction.commit(self).await? {
            CommitOutcome::Yes => return Ok(StoreOutcome::New),
            CommitOutcome::No(refusals) => refusals,
        };
        let marked = refusals
            .into_iter()
            .find(|refusal| refusal.kind == ItemKind::DeliveryMark)
            .and_then(|refusal| refusal.item)
            .ok_or_else(|| Error::internal("a new delivery's id is taken"))?;
        Ok(StoreOutcome::Duplicate(
            read::<MarkItem>(marked)?.delivery_id,
        ))
    }

    /// A delivery to an inbox of this organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn inbox_delivery(
        &self,
        org: &OrgId,
        inbox: &InboxId,
        id: &InboxDeliveryId,
    ) -> Result<Option<InboxDelivery>, Error> {
        let key = Key::inbox_delivery(org, inbox, id);
        let item: Option<DeliveryItem> = self.get(&key).await?;
        Ok(item.map(|item| item.delivery))
    }

    /// Deliveries to an inbox of the last 30 days, newest first, and how many there are in all.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn inbox_deliveries(
        &self,
        org: &OrgId,
        inbox: &InboxId,
        window: DeliveryWindow<'_>,
    ) -> Result<(Page<InboxDelivery>, u64), Error> {
        let oldest = InboxDeliveryId::new(window.now.plus_ms(-DELIVERIES_KEPT_MS), 0);
        let outcome = window.outcome.map(|outcome| outcome.as_str().to_owned());
        let all = Slice::of_partition(inbox_deliveries(org, inbox))
            .between(oldest.as_str(), format!("{}~", InboxDeliveryId::PREFIX))
            .filter("outcome", outcome)
            .newest_first();
        let after = window.after.map(|id| Key::inbox_delivery(org, inbox, id));
        let page = all
            .clone()
            .limit(window.limit)
            .skip(window.skip)
            .after(after.map(|key| key.to_item()));
        let (page, total) = tokio::try_join!(self.slice::<DeliveryItem>(page), self.count(&all))?;
        let items = page.items.into_iter().map(|item| item.delivery).collect();
        let has_more = page.has_more;
        Ok((Page { items, has_more }, total))
    }

    /// Has a delivery processed once more; false if it waits for its processing already.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn replay_inbox_delivery(
        &self,
        org: &OrgId,
        delivery: &InboxDelivery,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let waiting = UnprocessedItem::new(now);
        let key = Key::unprocessed_delivery(org, &delivery.inbox_id, &delivery.id);
        let replayed = Transaction::new()
            .log_delivery(org, delivery)?
            .put(&key, &waiting)?
            .commit(self)
            .await?;
        Ok(replayed.is_yes())
    }
}

impl Transaction {
    /// Writes a delivery over what is stored of it.
    pub(super) fn log_delivery(
        self,
        org: &OrgId,
        delivery: &InboxDelivery,
    ) -> Result<Transaction, Error> {
        let key = Key::inbox_delivery(org, &delivery.inbox_id, &delivery.id);
        let stored = Change::new().when_present("pk");
        self.put_when(&key, &DeliveryItem::of(delivery), stored)
    }
}
