//! `ReceiveMessage`. Invariant: a receiver gets exactly the fields that it requested; the checksum
//! of the attributes covers those that it gets.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::sqs::attributes::{VISIBILITY_SECONDS, WAIT_SECONDS};
use crate::sqs::message::{md5_of_attributes, md5_of_body};
use crate::sqs::protocol::{BATCH, name_of};
use crate::sqs::{Message, Queues, Receive, ReceivedMessage, SqsError};

/// `SenderId` of every message; only the product's own functions send.
const SENDER: &str = "AIDALOCAL";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ReceiveMessage {
    queue_url: String,
    max_number_of_messages: Option<i64>,
    wait_time_seconds: Option<i64>,
    visibility_timeout: Option<i64>,
    #[serde(default)]
    attribute_names: Vec<String>,
    #[serde(default)]
    message_system_attribute_names: Vec<String>,
    #[serde(default)]
    message_attribute_names: Vec<String>,
}

pub(crate) async fn receive_message(
    queues: &Queues,
    input: ReceiveMessage,
) -> Result<Value, SqsError> {
    let seconds = |name, value, limit| {
        in_range(name, value, 0, limit).map(|seconds| seconds.map(Duration::from_secs))
    };
    let messages = in_range(
        "MaxNumberOfMessages",
        input.max_number_of_messages,
        1,
        BATCH as u64,
    )?;
    let receive = Receive {
        messages: messages
            .and_then(|messages| usize::try_from(messages).ok())
            .unwrap_or(1),
        bytes: usize::MAX,
        wait: seconds("WaitTimeSeconds", input.wait_time_seconds, WAIT_SECONDS)?,
        visibility: seconds(
            "VisibilityTimeout",
            input.visibility_timeout,
            VISIBILITY_SECONDS,
        )?,
    };
    let received = queues.receive(name_of(&input.queue_url)?, receive).await?;
    if received.is_empty() {
        return Ok(json!({}));
    }
    let messages: Vec<Value> = received
        .iter()
        .map(|received| incoming(received, &input))
        .collect();
    Ok(json!({"Messages": messages}))
}

fn in_range(name: &str, value: Option<i64>, from: u64, to: u64) -> Result<Option<u64>, SqsError> {
    let Some(value) = value else { return Ok(None) };
    let inside = u64::try_from(value)
        .ok()
        .filter(|value| (from..=to).contains(value));
    inside.map(Some).ok_or_else(|| {
        SqsError::InvalidParameterValue(format!(
            "Value {value} for parameter {name} is invalid. Reason: Must be between {from} and \
             {to}, if provided."
        ))
    })
}

fn incoming(received: &ReceivedMessage, input: &ReceiveMessage) -> Value {
    let message = &received.message;
    let mut rendered = json!({
        "MessageId": message.id,
        "ReceiptHandle": received.receipt_handle,
        "Body": message.body,
        "MD5OfBody": md5_of_body(&message.body),
    });
    let asked = |name: &str| {
        let mut names = input
            .attribute_names
            .iter()
            .chain(&input.message_system_attribute_names);
        names.any(|asked| asked == "All" || asked == name)
    };
    let mut attributes = system_attributes(message);
    attributes.retain(|name, _| asked(name));
    if !attributes.is_empty() {
        rendered["Attributes"] = Value::Object(attributes);
    }
    let mut attributes = message.attributes.clone();
    attributes.retain(|name, _| {
        input
            .message_attribute_names
            .iter()
            .any(|asked| match asked.strip_suffix(".*") {
                Some(prefix) => name.starts_with(prefix),
                None => asked == "All" || asked == name,
            })
    });
    if let Some(md5) = md5_of_attributes(&attributes) {
        rendered["MD5OfMessageAttributes"] = Value::String(md5);
        rendered["MessageAttributes"] = json!(attributes);
    }
    rendered
}

/// SQS's attributes of a message, as strings, as a receiver or a Lambda function sees them.
pub(crate) fn system_attributes(message: &Message) -> Map<String, Value> {
    let mut attributes = Map::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            attributes.insert(name.to_owned(), Value::String(value));
        }
    };
    put(
        "ApproximateReceiveCount",
        Some(message.receive_count.to_string()),
    );
    put("SentTimestamp", Some(message.sent_millis.to_string()));
    put("SenderId", Some(SENDER.to_owned()));
    put(
        "ApproximateFirstReceiveTimestamp",
        message
            .first_received_millis
            .map(|millis| millis.to_string()),
    );
    put("MessageGroupId", message.group_id.clone());
    put("AWSTraceHeader", message.trace_header.clone());
    put(
        "DeadLetterQueueSourceArn",
        message.dead_letter_source_arn.clone(),
    );
    attributes
}
