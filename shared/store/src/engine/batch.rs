//! Items by their keys, many in one call: consistent reads, each item once.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use awo_domain::Error;
use aws_sdk_dynamodb::types::{KeysAndAttributes, ReturnConsumedCapacity};

use crate::Store;
use crate::engine::item::Item;
use crate::engine::key::Key;
use crate::engine::table::{conflict_pause, failed, log};

/// Most keys of one call, as DynamoDB takes them.
pub(crate) const MAX_KEYS: usize = 100;
/// How often what DynamoDB left of a batch is asked for again.
const TRIES: u32 = 8;

impl Store {
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

fn text(item: &Item, name: &str) -> String {
    let part = item.get(name).and_then(|part| part.as_s().ok());
    part.cloned().unwrap_or_default()
}
