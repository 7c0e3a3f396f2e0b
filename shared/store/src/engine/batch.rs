//! Many items in one call: consistent reads, each item once. Deliveries with their webhooks and
//! delivery permits, for a whole batch of messages.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use awo_domain::{Error, Timestamp};
use aws_sdk_dynamodb::types::{KeysAndAttributes, ReturnConsumedCapacity};

use crate::Store;
use crate::engine::item::Item;
use crate::engine::key::Key;
use crate::engine::table::{conflict_pause, failed, log, read};
use crate::webhooks::deliveries::Delivery;
use crate::webhooks::delivery_permits::{self, DELIVERY_PERMITS};
use crate::webhooks::notifications::DeliveryRef;
use crate::webhooks::{Webhook, WebhookItem};

/// Deliveries of one call: with their webhooks and the delivery permits to these at most [`MAX_KEYS`].
pub const MAX_TOGETHER: usize = MAX_KEYS / (2 + DELIVERY_PERMITS as usize);
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
    /// The delivery permits to the webhook that nobody holds.
    pub free_delivery_permits: Vec<u32>,
}

impl Store {
    /// These deliveries with their webhooks and the delivery permits that are free now, in the order asked for.
    ///
    /// # Errors
    /// Internal, when there are none or more than [`MAX_TOGETHER`], or when DynamoDB fails.
    pub async fn addressed(
        &self,
        of: &[DeliveryRef],
        now: Timestamp,
    ) -> Result<Vec<Addressed>, Error> {
        if of.is_empty() || of.len() > MAX_TOGETHER {
            return Err(Error::internal("no or too many deliveries for one call"));
        }
        let delivery = |at: &DeliveryRef| Key::delivery(&at.org_id, &at.webhook_id, &at.id);
        let webhook = |at: &DeliveryRef| Key::webhook(&at.org_id, &at.webhook_id);
        let delivery_permits = |at: &'_ DeliveryRef| {
            delivery_permits::keys(&at.org_id, &at.webhook_id).collect::<Vec<_>>()
        };
        let keys = of.iter().flat_map(|at| [delivery(at), webhook(at)]);
        let keys = keys.chain(of.iter().flat_map(delivery_permits));
        let mut items = self.batch(keys).await?;
        let mut found = Vec::with_capacity(of.len());
        for (nth, at) in of.iter().enumerate() {
            let to = (&at.org_id, &at.webhook_id);
            let mut later = of.iter().skip(nth + 1);
            let is_last = !later.clone().any(|other| other == at);
            let is_last_to = !later.any(|other| (&other.org_id, &other.webhook_id) == to);
            let item = taken(&mut items, &webhook(at), is_last_to);
            let free_delivery_permits =
                delivery_permits::free(|delivery_permit| items.get(&delivery_permit), to, now);
            let delivery = taken(&mut items, &delivery(at), is_last).map(read);
            found.push(Addressed {
                delivery: delivery.transpose()?,
                webhook: item
                    .map(read::<WebhookItem>)
                    .transpose()?
                    .map(Webhook::from),
                free_delivery_permits,
            });
        }
        Ok(found)
    }

    /// Items by their keys, at least one and at most [`MAX_KEYS`]; those that are there.
    pub(crate) async fn batch(
        &self,
        keys: impl IntoIterator<Item = Key>,
    ) -> Result<HashMap<Key, Item>, Error> {
        // Each once, as DynamoDB wants it.
        let keys: HashSet<Key> = keys.into_iter().collect();
        let mut of_tables: HashMap<&str, Vec<Item>> = HashMap::new();
        for key in &keys {
            let table = self.tables.name(key.table());
            of_tables.entry(table).or_default().push(key.to_item());
        }
        let mut wanted = of_tables
            .into_iter()
            .map(|(table, keys)| {
                let keys = KeysAndAttributes::builder().set_keys(Some(keys));
                let keys = keys.consistent_read(true).build();
                Ok((table.to_owned(), keys.map_err(Error::internal)?))
            })
            .collect::<Result<HashMap<String, KeysAndAttributes>, Error>>()?;
        let mut items: HashMap<(String, String, String), Item> = HashMap::new();
        for attempt in 0..TRIES {
            let began = Instant::now();
            let answer = self
                .client
                .batch_get_item()
                .set_request_items(Some(std::mem::take(&mut wanted)))
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await
                .map_err(|e| failed("BatchGetItem", &e))?;
            log("BatchGetItem", began, answer.consumed_capacity());
            for (table, found) in answer.responses.into_iter().flatten() {
                let found = found.into_iter().map(|item| {
                    let [pk, sk] = ["pk", "sk"].map(|name| text(&item, name));
                    ((table.clone(), pk, sk), item)
                });
                items.extend(found);
            }
            wanted = answer.unprocessed_keys.unwrap_or_default();
            if wanted.is_empty() {
                let found = keys.into_iter().filter_map(|key| {
                    let table = self.tables.name(key.table()).to_owned();
                    let item = items.remove(&(table, key.pk.clone(), key.sk.clone()))?;
                    Some((key, item))
                });
                return Ok(found.collect());
            }
            conflict_pause(attempt).await;
        }
        Err(Error::internal("BatchGetItem: DynamoDB left items unread"))
    }
}

/// An item that was found; it stays for others unless this is the last who wants it.
fn taken(items: &mut HashMap<Key, Item>, key: &Key, is_last: bool) -> Option<Item> {
    match is_last {
        true => items.remove(key),
        false => items.get(key).cloned(),
    }
}

fn text(item: &Item, name: &str) -> String {
    let part = item.get(name).and_then(|part| part.as_s().ok());
    part.cloned().unwrap_or_default()
}
