//! Many items in one call: consistent reads, each item once. Deliveries with their webhooks and
//! delivery permits, for a whole batch of messages.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use awo_domain::{Error, Timestamp};
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes, ReturnConsumedCapacity};

use crate::Store;
use crate::deliveries::Delivery;
use crate::delivery_permits::{self, DELIVERY_PERMITS};
use crate::item::{Item, Key};
use crate::notifications::DeliveryRef;
use crate::table::{conflict_pause, failed, log, read};
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

/// Items of a table, by their keys.
pub(crate) type Items = HashMap<Key, Item>;

/// Which items of a table are to be read: at least one.
pub(crate) struct Wanted {
    table: String,
    /// Each once, as DynamoDB wants it.
    keys: HashSet<Key>,
}

impl Wanted {
    pub(crate) fn new(table: &str, keys: impl Iterator<Item = Key>) -> Wanted {
        Wanted {
            table: table.to_owned(),
            keys: keys.collect(),
        }
    }
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
        let keys = of
            .iter()
            .map(delivery)
            .chain(of.iter().flat_map(delivery_permits));
        let (settings, table) = (&self.tables.settings, &self.tables.deliveries);
        let webhooks = Wanted::new(settings, of.iter().map(webhook));
        let mut found = self.batch([webhooks, Wanted::new(table, keys)]).await?;
        let [mut webhooks, mut deliveries] =
            [settings, table].map(|table| found.remove(table).unwrap_or_default());
        let mut found = Vec::with_capacity(of.len());
        for (nth, at) in of.iter().enumerate() {
            let to = (&at.org_id, &at.webhook_id);
            let mut later = of.iter().skip(nth + 1);
            let is_last = !later.clone().any(|other| other == at);
            let is_last_to = !later.any(|other| (&other.org_id, &other.webhook_id) == to);
            let item = taken(&mut webhooks, &webhook(at), is_last_to);
            let free_delivery_permits =
                delivery_permits::free(|delivery_permit| deliveries.get(&delivery_permit), to, now);
            let delivery = taken(&mut deliveries, &delivery(at), is_last).map(read);
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

    /// Items of tables by their keys, at most [`MAX_KEYS`]; those that are there, by their tables.
    pub(crate) async fn batch(
        &self,
        wanted: impl IntoIterator<Item = Wanted>,
    ) -> Result<HashMap<String, Items>, Error> {
        let mut wanted: HashMap<String, KeysAndAttributes> = wanted
            .into_iter()
            .map(|Wanted { table, keys }| {
                let keys = KeysAndAttributes::builder()
                    .set_keys(Some(keys.iter().map(Key::to_item).collect()))
                    .consistent_read(true)
                    .build();
                Ok((table, keys.map_err(Error::internal)?))
            })
            .collect::<Result<_, Error>>()?;
        let mut found: HashMap<String, Items> = HashMap::new();
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
            for (table, items) in answer.responses.into_iter().flatten() {
                let items = items.into_iter().map(|item| (key_of(&item), item));
                found.entry(table).or_default().extend(items);
            }
            wanted = answer.unprocessed_keys.unwrap_or_default();
            if wanted.is_empty() {
                return Ok(found);
            }
            conflict_pause(attempt).await;
        }
        Err(Error::internal("BatchGetItem: DynamoDB left items unread"))
    }
}

/// An item that was found; it stays for others unless this is the last who wants it.
fn taken(items: &mut Items, key: &Key, is_last: bool) -> Option<Item> {
    match is_last {
        true => items.remove(key),
        false => items.get(key).cloned(),
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
