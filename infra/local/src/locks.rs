//! Locks of items, as DynamoDB has them between the two steps of a transaction. The embedded engine
//! makes one transaction after the other and never refuses one for a rival; DynamoDB locks the items of
//! a transaction for some milliseconds and refuses what comes for one of them meanwhile.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::aws_json::Refusal;

const PREFIX: &str = "com.amazonaws.dynamodb.v20120810#";

/// A table, a partition key and a sort key, as JSON.
type Locked = (String, String, String);

/// The locks of a database. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Locks {
    hold: Duration,
    held: Arc<Mutex<HashSet<Locked>>>,
}

/// Items that are locked until this is dropped.
struct Held {
    locks: Locks,
    items: Vec<Locked>,
}

impl Drop for Held {
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

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<Locked>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does an operation as it is done beside others.
    pub(crate) async fn beside_others(
        &self,
        operation: &str,
        body: &Bytes,
        done: impl Future<Output = Result<String, Refusal>>,
    ) -> Result<String, Refusal> {
        if self.hold.is_zero() {
            return done.await;
        }
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            return done.await;
        };
        match operation {
            "TransactWriteItems" => {
                let held = self.take(writes(&body))?;
                tokio::time::sleep(self.hold).await;
                let answer = done.await;
                drop(held);
                answer
            }
            "PutItem" | "UpdateItem" | "DeleteItem" => {
                if self.lock().contains(&item(&body)) {
                    let code = format!("{PREFIX}TransactionConflictException");
                    return Err(Refusal::new(
                        400,
                        &code,
                        "Transaction is ongoing for the item",
                    ));
                }
                done.await
            }
            _ => done.await,
        }
    }

    fn take(&self, items: Vec<Locked>) -> Result<Held, Refusal> {
        let mut held = self.lock();
        if items.iter().any(|item| held.contains(item)) {
            let code = |item: &Locked| match held.contains(item) {
                true => {
                    json!({ "Code": "TransactionConflict", "Message": "Transaction is ongoing for the item" })
                }
                false => json!({ "Code": "None" }),
            };
            let reasons: Vec<Value> = items.iter().map(code).collect();
            let body = json!({
                "__type": format!("{PREFIX}TransactionCanceledException"),
                "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons",
                "CancellationReasons": reasons,
            });
            return Err(Refusal {
                status: 400,
                body: body.to_string(),
                query_error: None,
            });
        }
        held.extend(items.iter().cloned());
        Ok(Held {
            locks: self.clone(),
            items,
        })
    }
}

/// The items of a transaction, in its order.
fn writes(body: &Value) -> Vec<Locked> {
    let all = body["TransactItems"].as_array().into_iter().flatten();
    all.flat_map(|write| {
        write
            .as_object()
            .into_iter()
            .flat_map(|write| write.values())
    })
    .map(item)
    .collect()
}

/// The item of a write. All tables have the same key attributes.
fn item(write: &Value) -> Locked {
    let key = write.get("Key").unwrap_or(&write["Item"]);
    let table = write["TableName"].as_str().unwrap_or_default();
    (
        table.to_owned(),
        key["pk"].to_string(),
        key["sk"].to_string(),
    )
}
