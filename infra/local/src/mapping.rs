//! Lambda's event source mapping for SQS. Invariants: a message is deleted only after the function
//! has reported its success; a failed one stays in flight and returns after the queue's visibility
//! timeout; at most `max_concurrency` batches are under way; an idle mapping sleeps.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

use crate::arn;
use crate::function::Registry;
use crate::shutdown::Shutdown;
use crate::sqs::message::{md5_of_attributes, md5_of_body};
use crate::sqs::receive;
use crate::sqs::{MessageAttributes, Queues, Receive, ReceivedMessage};

/// One long poll. Only its end and a message wake the mapping.
const WAIT: Duration = Duration::from_secs(20);

/// Pause after a receive that failed: its cause, a queue that is gone or an overfull flight,
/// does not pass at once.
const FAULT_PAUSE: Duration = Duration::from_secs(1);

/// Bytes of the messages of one batch: half of what Lambda takes as an event, since JSON
/// escapes may double the text.
const BATCH_BYTES: usize = 3 * 1024 * 1024;

/// A queue that invokes a function.
#[derive(Clone, Debug)]
pub struct EventSourceMapping {
    pub queue: String,
    pub function: String,
    /// 1 to 10 messages an invocation.
    pub batch_size: usize,
    /// Invocations at once; Lambda allows 2 to 1000.
    pub max_concurrency: usize,
}

impl EventSourceMapping {
    /// Runs until the shutdown; batches under way are finished.
    #[must_use]
    pub fn start(self, queues: Queues, registry: Registry, shutdown: Shutdown) -> JoinHandle<()> {
        tokio::spawn(self.run(queues, registry, shutdown))
    }

    async fn run(self, queues: Queues, registry: Registry, shutdown: Shutdown) {
        let mapping = Arc::new(self);
        let places = Arc::new(Semaphore::new(mapping.max_concurrency));
        let mut batches = JoinSet::new();
        let receive = Receive {
            messages: mapping.batch_size,
            bytes: BATCH_BYTES,
            wait: Some(WAIT),
            visibility: None,
        };
        while !shutdown.has_begun() {
            // A message is taken only when it can be worked on at once, or its visibility
            // timeout would run while it waits.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                break;
            };
            while batches.try_join_next().is_some() {}
            // A wait that is cut off has taken nothing.
            let received = tokio::select! {
                received = queues.receive(&mapping.queue, receive) => received,
                () = shutdown.begun() => break,
            };
            let received = match received {
                Ok(received) => received,
                Err(error) => {
                    tracing::error!(queue = mapping.queue, %error, "a mapping cannot receive");
                    tokio::select! {
                        () = tokio::time::sleep(FAULT_PAUSE) => {}
                        () = shutdown.begun() => {}
                    }
                    continue;
                }
            };
            if received.is_empty() {
                continue;
            }
            let (mapping, queues, registry) =
                (Arc::clone(&mapping), queues.clone(), registry.clone());
            batches.spawn(async move {
                mapping.process(&queues, &registry, received).await;
                drop(place);
            });
        }
        while batches.join_next().await.is_some() {}
    }

    async fn process(&self, queues: &Queues, registry: &Registry, received: Vec<ReceivedMessage>) {
        let records: Vec<Value> = received
            .iter()
            .map(|received| record(&self.queue, received))
            .collect();
        let answer = registry
            .invoke(&self.function, &json!({"Records": records}))
            .await;
        let ids: HashSet<&str> = received
            .iter()
            .map(|received| received.message.id.as_str())
            .collect();
        let failed = match answer {
            Ok(answer) => failures(&answer, &ids),
            Err(error) => Err(error.to_string()),
        };
        let failed = failed.unwrap_or_else(|error| {
            tracing::warn!(function = self.function, %error, "a whole batch failed");
            ids.iter().map(|id| (*id).to_owned()).collect()
        });
        for received in &received {
            if failed.contains(&received.message.id) {
                continue;
            }
            if let Err(error) = queues.delete(&self.queue, &received.receipt_handle) {
                tracing::error!(queue = self.queue, %error, "a message cannot be deleted");
            }
        }
    }
}

/// The messages that the function wants to see again.
///
/// # Errors
/// What Lambda takes as the failure of the whole batch.
fn failures(answer: &Value, ids: &HashSet<&str>) -> Result<HashSet<String>, String> {
    let list = match answer {
        Value::Null => return Ok(HashSet::new()),
        Value::Object(answer) => match answer.get("batchItemFailures") {
            None | Some(Value::Null) => return Ok(HashSet::new()),
            Some(Value::Array(list)) => list,
            Some(_) => return Err("batchItemFailures is no list".to_owned()),
        },
        _ => return Err("the answer is no object".to_owned()),
    };
    list.iter()
        .map(|item| {
            let id = item
                .get("itemIdentifier")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if ids.contains(id) {
                Ok(id.to_owned())
            } else {
                Err(format!("{id:?} is no message of the batch"))
            }
        })
        .collect()
}

fn record(queue: &str, received: &ReceivedMessage) -> Value {
    let message = &received.message;
    let mut record = json!({
        "messageId": message.id,
        "receiptHandle": received.receipt_handle,
        "body": message.body,
        "attributes": receive::system_attributes(message),
        "messageAttributes": attributes(&message.attributes),
        "md5OfBody": md5_of_body(&message.body),
        "eventSource": "aws:sqs",
        "eventSourceARN": arn::queue(queue),
        "awsRegion": arn::REGION,
    });
    if let Some(md5) = md5_of_attributes(&message.attributes) {
        record["md5OfMessageAttributes"] = Value::String(md5);
    }
    record
}

fn attributes(attributes: &MessageAttributes) -> Value {
    let rendered = attributes.iter().map(|(name, attribute)| {
        let mut rendered = json!({
            "stringListValues": [],
            "binaryListValues": [],
            "dataType": attribute.data_type,
        });
        if let Some(text) = &attribute.string_value {
            rendered["stringValue"] = Value::String(text.clone());
        }
        if let Some(base64) = &attribute.binary_value {
            rendered["binaryValue"] = Value::String(base64.clone());
        }
        (name.clone(), rendered)
    });
    Value::Object(rendered.collect::<Map<String, Value>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(answer: Value) -> Result<Vec<String>, String> {
        let mut failed: Vec<String> = failures(&answer, &HashSet::from(["a", "b"]))?
            .into_iter()
            .collect();
        failed.sort();
        Ok(failed)
    }

    #[test]
    fn an_empty_answer_is_a_complete_success() {
        for answer in [
            json!(null),
            json!({}),
            json!({"batchItemFailures": []}),
            json!({"batchItemFailures": null}),
        ] {
            assert_eq!(failed(answer), Ok(vec![]));
        }
    }

    #[test]
    fn named_messages_fail_alone() {
        let answer = json!({"batchItemFailures": [{"itemIdentifier": "b"}]});
        assert_eq!(failed(answer), Ok(vec!["b".to_owned()]));
    }

    #[test]
    fn an_answer_that_cannot_be_read_fails_the_whole_batch() {
        for answer in [
            json!("text"),
            json!({"batchItemFailures": "a"}),
            json!({"batchItemFailures": [{"itemIdentifier": ""}]}),
            json!({"batchItemFailures": [{"itemIdentifier": null}]}),
            json!({"batchItemFailures": [{"wrongKey": "a"}]}),
            json!({"batchItemFailures": [{"itemIdentifier": "stranger"}]}),
        ] {
            assert!(failed(answer.clone()).is_err(), "{answer}");
        }
    }
}
