//! Index queries that lag behind their table, as in DynamoDB's global secondary indexes: normally
//! by less than a second, in trouble by minutes. The embedded engine's indexes never lag, so index
//! queries read a copy of the database that receives each write later. Invariants: changes of one
//! item reach the copy in their order; those of two items may not.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use awo_cloud::Clock;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::locks::{self, ItemKey};

/// How late a copy hears of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// This late, always.
    Of(Duration),
    /// At some time up to this late, another for each write.
    UpTo(Duration),
}

/// The lag of a database's indexes; without one they are never stale. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct IndexLag(Option<Arc<Lag>>);

#[derive(Debug)]
struct Lag {
    clock: Clock,
    changes: Mutex<Changes>,
}

/// What the copy has not heard of yet.
#[derive(Debug)]
struct Changes {
    staleness: Staleness,
    /// By the time at which the copy hears of it, in milliseconds, and a number.
    waiting: BTreeMap<(i64, u64), Change>,
    /// The last of each item that is waiting.
    last: HashMap<ItemKey, i64>,
    made: u64,
}

#[derive(Debug)]
struct Change {
    item: ItemKey,
    operation: &'static str,
    body: Bytes,
}

impl IndexLag {
    /// A lag by this clock, which a test may move forward.
    #[must_use]
    pub fn new(staleness: Staleness, clock: Clock) -> IndexLag {
        let changes = Mutex::new(Changes {
            staleness,
            waiting: BTreeMap::new(),
            last: HashMap::new(),
            made: 0,
        });
        IndexLag(Some(Arc::new(Lag { clock, changes })))
    }

    /// From now on the copy hears of writes this late, and of what it has still to hear no later.
    ///
    /// # Panics
    /// For indexes without a lag, which have no copy.
    pub fn set(&self, staleness: Staleness) {
        let lag = self.0.as_ref();
        #[expect(clippy::expect_used, reason = "a test that asks for this made the lag")]
        let lag = lag.expect("a database whose indexes lag");
        lag.lock().hear_sooner(staleness, lag.now());
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Notes what a write that was made has left of its items, which `read` reads.
    pub(crate) fn note(
        &self,
        operation: &str,
        body: &Bytes,
        read: impl Fn(Bytes) -> Option<Value>,
    ) {
        let Some(lag) = &self.0 else { return };
        let written = written(operation, body);
        if written.is_empty() {
            return;
        }
        // Read under the lock: of two writes of an item the one that is noted last sees both.
        let mut changes = lag.lock();
        for (table, key) in written {
            let asked = json!({ "TableName": table, "Key": key, "ConsistentRead": true });
            let item = read(Bytes::from(asked.to_string())).map(|read| read["Item"].clone());
            let (operation, body) = match item.filter(|item| !item.is_null()) {
                Some(item) => ("PutItem", json!({ "TableName": table, "Item": item })),
                None => ("DeleteItem", json!({ "TableName": table, "Key": key })),
            };
            let item = (table, key["pk"].to_string(), key["sk"].to_string());
            let body = Bytes::from(body.to_string());
            changes.wait(
                Change {
                    item,
                    operation,
                    body,
                },
                lag.now(),
            );
        }
    }

    /// Applies the writes that are due to the copy.
    pub(crate) fn catch_up(&self, apply: impl Fn(&str, &Bytes)) {
        let Some(lag) = &self.0 else { return };
        let (mut changes, now) = (lag.lock(), lag.now());
        while let Some(first) = changes
            .waiting
            .first_entry()
            .filter(|first| first.key().0 <= now)
        {
            let change = first.remove();
            apply(change.operation, &change.body);
        }
        changes.last.retain(|_, visible_at| *visible_at > now);
    }
}

impl Lag {
    fn lock(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        self.clock.now().epoch_ms()
    }
}

impl Changes {
    fn wait(&mut self, change: Change, now: i64) {
        self.made += 1;
        let before = self.last.get(&change.item).copied().unwrap_or(now);
        let visible_at = before.max(now + self.lag_ms());
        self.last.insert(change.item.clone(), visible_at);
        self.waiting.insert((visible_at, self.made), change);
    }

    fn hear_sooner(&mut self, staleness: Staleness, now: i64) {
        self.staleness = staleness;
        let (Staleness::Of(most) | Staleness::UpTo(most)) = staleness;
        let latest = now.saturating_add(ms(most));
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        self.waiting = waiting
            .map(|((visible_at, nth), change)| ((visible_at.min(latest), nth), change))
            .collect();
        for visible_at in self.last.values_mut() {
            *visible_at = latest.min(*visible_at);
        }
    }

    /// Half of the writes are heard of within a tenth of the longest time, as in the cloud.
    fn lag_ms(&self) -> i64 {
        match self.staleness {
            Staleness::Of(lag) => ms(lag),
            Staleness::UpTo(most) => {
                // A sequence of its own, so that a failure repeats.
                let mixed = self.made.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let part = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32;
                let part = i64::try_from(part % 1_000).unwrap_or(0);
                ms(most) * part * part * part / 1_000_000_000
            }
        }
    }
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Tables and keys of the items that an operation writes.
fn written(operation: &str, body: &Bytes) -> Vec<(String, Value)> {
    let body = || serde_json::from_slice::<Value>(body).unwrap_or_default();
    match operation {
        "PutItem" | "UpdateItem" | "DeleteItem" => vec![table_and_key(&body())],
        "TransactWriteItems" => locks::writes(&body()).map(table_and_key).collect(),
        "BatchWriteItem" => {
            let body = body();
            let tables = body["RequestItems"].as_object().into_iter().flatten();
            let of_table = |(table, writes): (&String, &Value)| {
                let writes = writes.as_array().into_iter().flatten();
                let parts = writes
                    .filter_map(Value::as_object)
                    .flat_map(|write| write.values());
                let keys = parts.map(|part| (table.clone(), locks::key(part)));
                keys.collect::<Vec<_>>()
            };
            tables.flat_map(of_table).collect()
        }
        _ => Vec::new(),
    }
}

fn table_and_key(write: &Value) -> (String, Value) {
    let table = write["TableName"].as_str().unwrap_or_default();
    (table.to_owned(), locks::key(write))
}
