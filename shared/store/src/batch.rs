//! Many items in one call: consistent reads, each item once. Deliveries with their webhooks and the
//! lanes to these, all that a batch of messages is about.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use awo_domain::{Error, Timestamp};
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes, ReturnConsumedCapacity};

use crate::Store;
use crate::deliveries::Delivery;
use crate::errands::DeliveryRef;
use crate::item::{Item, Key};
use crate::lanes::{self, LANES};
use crate::table::{conflict_pause, failed, log, read};
use crate::webhooks::{Webhook, WebhookItem};

/// Deliveries of one call: with the lanes to their webhooks at most [`MAX_KEYS`].
pub const MAX_TOGETHER: usize = MAX_KEYS / (1 + LANES as usize);
/// Most keys of one call, as DynamoDB takes them.
pub(crate) const MAX_KEYS: usize = 100;
/// How often what DynamoDB left of a batch is asked for again.
const TRIES: u32 = 8;

/// A delivery as it is, with its webhook as that is.
#[derive(Debug, Clone)]
pub struct Addressed {
    /// None if it was removed.
    pub delivery: Option<Delivery>,
    /// None if it was deleted.
    pub webhook: Option<Webhook>,
    /// The lanes to the webhook that nobody holds.
    pub free_lanes: Vec<u32>,
}

impl Store {
    /// These deliveries with their webhooks and the lanes that are free now, in the order asked for.
    ///
    /// # Errors
    /// Internal, when there are more than [`MAX_TOGETHER`], or when DynamoDB fails.
    pub async fn addressed(
        &self,
        of: &[DeliveryRef],
        now: Timestamp,
    ) -> Result<Vec<Addressed>, Error> {
        if of.len() > MAX_TOGETHER {
            return Err(Error::internal("too many deliveries for one call"));
        }
        let delivery = |at: &DeliveryRef| Key::delivery(&at.org_id, &at.webhook_id, &at.id);
        let webhook = |at: &DeliveryRef| Key::webhook(&at.org_id, &at.webhook_id);
        let lanes =
            |at: &'_ DeliveryRef| lanes::keys(&at.org_id, &at.webhook_id).collect::<Vec<_>>();
        let keys = of.iter().map(delivery).chain(of.iter().flat_map(lanes));
        let deliveries = self.batch(&self.tables.deliveries, keys);
        let webhooks = self.batch(&self.tables.settings, of.iter().map(webhook));
        let (deliveries, webhooks) = tokio::try_join!(deliveries, webhooks)?;
        let found = |items: &HashMap<Key, Item>, key: Key| items.get(&key).cloned();
        of.iter()
            .map(|at| {
                let item = found(&webhooks, webhook(at)).map(read::<WebhookItem>);
                Ok(Addressed {
                    delivery: found(&deliveries, delivery(at)).map(read).transpose()?,
                    webhook: item.transpose()?.map(Webhook::from),
                    free_lanes: lanes::free(&deliveries, (&at.org_id, &at.webhook_id), now),
                })
            })
            .collect()
    }

    /// Items of a table by their keys, at most [`MAX_KEYS`]; those that are there.
    pub(crate) async fn batch(
        &self,
        table: &str,
        keys: impl Iterator<Item = Key>,
    ) -> Result<HashMap<Key, Item>, Error> {
        let once: HashSet<Key> = keys.collect();
        let mut wanted: Vec<Item> = once.iter().map(Key::to_item).collect();
        let mut found = HashMap::new();
        for attempt in 0..TRIES {
            if wanted.is_empty() {
                return Ok(found);
            }
            let began = Instant::now();
            let keys = KeysAndAttributes::builder()
                .set_keys(Some(std::mem::take(&mut wanted)))
                .consistent_read(true)
                .build()
                .map_err(Error::internal)?;
            let answer = self
                .client
                .batch_get_item()
                .request_items(table, keys)
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await
                .map_err(|e| failed("BatchGetItem", &e))?;
            log("BatchGetItem", began, answer.consumed_capacity());
            for item in answer.responses.into_iter().flatten().flat_map(|(_, i)| i) {
                found.insert(key_of(&item), item);
            }
            let left = answer
                .unprocessed_keys
                .and_then(|mut left| left.remove(table));
            if let Some(left) = left {
                wanted = left.keys;
                conflict_pause(attempt).await;
            }
        }
        match wanted.is_empty() {
            true => Ok(found),
            false => Err(Error::internal("BatchGetItem: DynamoDB left items unread")),
        }
    }
}

fn key_of(item: &Item) -> Key {
    let part = |name: &str| {
        let part = item
            .get(name)
            .and_then(|part: &AttributeValue| part.as_s().ok());
        part.cloned().unwrap_or_default()
    };
    Key {
        pk: part("pk"),
        sk: part("sk"),
    }
}
