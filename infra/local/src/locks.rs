//! Locks of items, as DynamoDB has them between the two steps of a transaction. The embedded engine
//! runs transactions one at a time and never refuses one for a rival; DynamoDB locks the items of a
//! transaction for some milliseconds and refuses concurrent ones for any of them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::aws_json::Refusal;

const PREFIX: &str = "com.amazonaws.dynamodb.v20120810#";
const CONFLICT: &str = "Transaction is ongoing for the item";

/// A table, a partition key and a sort key, as JSON.
pub(crate) type ItemKey = (String, String, String);

/// The locks of a database. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Locks {
    hold: Duration,
    /// Of so many writes one meets an invisible rival; with 0 none does.
    rival_every: u32,
    writes: Arc<AtomicU32>,
    held: Arc<Mutex<HashSet<ItemKey>>>,
}

/// Items that are locked until this is dropped.
struct LockedItems {
    locks: Locks,
    items: Vec<ItemKey>,
}

impl Drop for LockedItems {
    fn drop(&mut self) {
        let mut held = self.locks.lock();
        for item in &self.items {
            held.remove(item);
        }
    }
}

impl Locks {
    /// Transactions lock their items for so long: 5 to 20 ms in the cloud. For no time, nothing is
    /// ever refused.
    #[must_use]
    pub fn held_for(hold: Duration) -> Locks {
        Locks {
            hold,
            ..Locks::default()
        }
    }

    /// Every so many writes an item is locked, as if by somebody else's transaction.
    #[must_use]
    pub fn with_rivals(every: u32) -> Locks {
        Locks {
            rival_every: every,
            ..Locks::default()
        }
    }

    /// True if this write meets an invisible rival.
    fn meets_a_rival(&self) -> bool {
        self.rival_every > 0
            && (self.writes.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.rival_every)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<ItemKey>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does an operation as it is done beside others.
    pub(crate) async fn beside_others(
        &self,
        operation: &str,
        body: &Bytes,
        done: impl Future<Output = Result<String, Refusal>>,
    ) -> Result<String, Refusal> {
        let is_write = matches!(operation, "PutItem" | "UpdateItem" | "DeleteItem");
        let is_kind = self.hold.is_zero() && self.rival_every == 0;
        if is_kind || !(is_write || operation == "TransactWriteItems") {
            return done.await;
        }
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            return done.await;
        };
        if is_write {
            return if self.meets_a_rival() || self.lock().contains(&item(&body)) {
                Err(conflict())
            } else {
                done.await
            };
        }
        let items: Vec<ItemKey> = writes(&body).map(item).collect();
        if self.meets_a_rival() {
            return Err(canceled(&items, |item| Some(item) == items.last()));
        }
        let held = self.take(items)?;
        if !self.hold.is_zero() {
            tokio::time::sleep(self.hold).await;
        }
        let answer = done.await;
        drop(held);
        answer
    }

    fn take(&self, items: Vec<ItemKey>) -> Result<LockedItems, Refusal> {
        let mut held = self.lock();
        if items.iter().any(|item| held.contains(item)) {
            return Err(canceled(&items, |item| held.contains(item)));
        }
        held.extend(items.iter().cloned());
        Ok(LockedItems {
            locks: self.clone(),
            items,
        })
    }
}

/// The error of a single write to an item of another transaction.
fn conflict() -> Refusal {
    let code = format!("{PREFIX}TransactionConflictException");
    Refusal::new(400, &code, CONFLICT)
}

/// The error of a transaction about these items.
fn canceled(items: &[ItemKey], is_locked: impl Fn(&ItemKey) -> bool) -> Refusal {
    let reason = |item: &ItemKey| {
        if is_locked(item) {
            json!({ "Code": "TransactionConflict", "Message": CONFLICT })
        } else {
            json!({ "Code": "None" })
        }
    };
    let reasons: Vec<Value> = items.iter().map(reason).collect();
    let body = json!({
        "__type": format!("{PREFIX}TransactionCanceledException"),
        "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons",
        "CancellationReasons": reasons,
    });
    Refusal {
        status: 400,
        body: body.to_string(),
        query_error: None,
    }
}

/// The writes of a transaction, in its order.
pub(crate) fn writes(body: &Value) -> impl Iterator<Item = &Value> {
    let all = body["TransactItems"].as_array().into_iter().flatten();
    all.filter_map(Value::as_object)
        .flat_map(|write| write.values())
}

/// The item of a write.
fn item(write: &Value) -> ItemKey {
    let (key, table) = (key(write), write["TableName"].as_str().unwrap_or_default());
    (
        table.to_owned(),
        key["pk"].to_string(),
        key["sk"].to_string(),
    )
}

/// The key of what a write is of. All tables have the same key attributes.
pub(crate) fn key(write: &Value) -> Value {
    let key = write.get("Key").unwrap_or(&write["Item"]);
    json!({ "pk": key["pk"], "sk": key["sk"] })
}
