//! SQS's wire protocol: AWS JSON 1.0. Invariant: an operation checks its parameters as SQS does
//! before it touches a queue; the entries of a batch succeed or fail separately.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::aws_json::{self, Refusal};
use crate::sqs::attributes::MESSAGE_BYTES;
use crate::sqs::message::{md5_of_attributes, md5_of_body};
use crate::sqs::receive;
use crate::sqs::{
    Message, MessageAttributes, NewMessage, QueueAttributes, Queues, SqsError, queue_url,
};

/// Entries of a batch, and messages of one receive.
pub(crate) const BATCH: usize = 10;

pub(crate) async fn run(
    queues: &Queues,
    endpoint: &str,
    operation: &str,
    body: &[u8],
) -> Result<String, Refusal> {
    let answer = match operation {
        "CreateQueue" => create_queue(queues, endpoint, aws_json::input(body)?)?,
        "GetQueueUrl" => get_queue_url(queues, endpoint, &aws_json::input(body)?)?,
        "GetQueueAttributes" => get_queue_attributes(queues, &aws_json::input(body)?)?,
        "SetQueueAttributes" => set_queue_attributes(queues, &aws_json::input(body)?)?,
        "SendMessage" => send_message(queues, aws_json::input(body)?)?,
        "SendMessageBatch" => send_message_batch(queues, aws_json::input(body)?)?,
        "ReceiveMessage" => receive::receive_message(queues, aws_json::input(body)?).await?,
        "DeleteMessage" => delete_message(queues, &aws_json::input(body)?)?,
        "DeleteMessageBatch" => delete_message_batch(queues, aws_json::input(body)?)?,
        "ChangeMessageVisibility" => change_visibility(queues, &aws_json::input(body)?)?,
        "ChangeMessageVisibilityBatch" => change_visibility_batch(queues, aws_json::input(body)?)?,
        "PurgeQueue" => {
            let input: OfQueue = aws_json::input(body)?;
            queues.purge(name_of(&input.queue_url)?)?;
            json!({})
        }
        other => {
            return Err(
                aws_json::unknown_operation(format!("{other} is not served here"))
                    .with_query_error("InvalidAction"),
            );
        }
    };
    Ok(answer.to_string())
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OfQueue {
    queue_url: String,
}

/// The queue's name is all that counts in a URL: the endpoint may be reached by several.
pub(crate) fn name_of(queue_url: &str) -> Result<&str, SqsError> {
    queue_url
        .rsplit('/')
        .next()
        .filter(|name| !name.is_empty())
        .ok_or(SqsError::QueueDoesNotExist)
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CreateQueue {
    queue_name: String,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
}

fn create_queue(queues: &Queues, endpoint: &str, input: CreateQueue) -> Result<Value, SqsError> {
    let mut attributes = QueueAttributes::default();
    attributes.set(&input.attributes)?;
    queues.create(&input.queue_name, attributes)?;
    Ok(json!({"QueueUrl": queue_url(endpoint, &input.queue_name)}))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GetQueueUrl {
    queue_name: String,
}

fn get_queue_url(queues: &Queues, endpoint: &str, input: &GetQueueUrl) -> Result<Value, SqsError> {
    queues.exists(&input.queue_name)?;
    Ok(json!({"QueueUrl": queue_url(endpoint, &input.queue_name)}))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GetQueueAttributes {
    queue_url: String,
    #[serde(default)]
    attribute_names: Vec<String>,
}

fn get_queue_attributes(queues: &Queues, input: &GetQueueAttributes) -> Result<Value, SqsError> {
    let mut attributes = queues.attributes(name_of(&input.queue_url)?)?;
    let asked = &input.attribute_names;
    attributes.retain(|name, _| asked.iter().any(|asked| asked == "All" || asked == name));
    Ok(json!({"Attributes": attributes}))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SetQueueAttributes {
    queue_url: String,
    attributes: BTreeMap<String, String>,
}

fn set_queue_attributes(queues: &Queues, input: &SetQueueAttributes) -> Result<Value, SqsError> {
    queues.set_attributes(name_of(&input.queue_url)?, &input.attributes)?;
    Ok(json!({}))
}

/// A message as `SendMessage` has it, and an entry of `SendMessageBatch`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Outgoing {
    message_body: Option<String>,
    delay_seconds: Option<i64>,
    #[serde(default)]
    message_attributes: MessageAttributes,
    #[serde(default)]
    message_system_attributes: MessageAttributes,
    message_group_id: Option<String>,
    message_deduplication_id: Option<String>,
}

impl Outgoing {
    fn parse(mut self) -> Result<NewMessage, SqsError> {
        if self.message_deduplication_id.is_some() {
            return Err(SqsError::InvalidParameterValue(
                "The request include parameter that is not valid for this queue type: \
                 MessageDeduplicationId"
                    .to_owned(),
            ));
        }
        // A negative delay is answered as one beyond the limit.
        let delay = |seconds| u64::try_from(seconds).unwrap_or(u64::MAX);
        Ok(NewMessage {
            body: self.message_body.unwrap_or_default(),
            delay_seconds: self.delay_seconds.map(delay),
            attributes: self.message_attributes,
            group_id: self.message_group_id,
            trace_header: self
                .message_system_attributes
                .remove("AWSTraceHeader")
                .and_then(|attribute| attribute.string_value),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SendMessage {
    queue_url: String,
    #[serde(flatten)]
    message: Outgoing,
}

fn send_message(queues: &Queues, input: SendMessage) -> Result<Value, SqsError> {
    let message = queues.send(name_of(&input.queue_url)?, input.message.parse()?)?;
    Ok(sent(&message))
}

fn sent(message: &Message) -> Value {
    let mut sent = json!({
        "MessageId": message.id,
        "MD5OfMessageBody": md5_of_body(&message.body),
    });
    if let Some(md5) = md5_of_attributes(&message.attributes) {
        sent["MD5OfMessageAttributes"] = Value::String(md5);
    }
    sent
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Batch<E> {
    queue_url: String,
    #[serde(default = "Vec::new")]
    entries: Vec<Entry<E>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry<E> {
    id: String,
    #[serde(flatten)]
    entry: E,
}

impl<E> Batch<E> {
    /// The checks that fail a batch as a whole.
    fn check(&self) -> Result<(), SqsError> {
        if self.entries.is_empty() {
            return Err(SqsError::EmptyBatchRequest);
        }
        if self.entries.len() > BATCH {
            return Err(SqsError::TooManyEntriesInBatchRequest(self.entries.len()));
        }
        let mut seen = HashSet::new();
        for Entry { id, .. } in &self.entries {
            let letters = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
            if id.is_empty() || id.len() > 80 || !id.chars().all(letters) {
                return Err(SqsError::InvalidBatchEntryId);
            }
            if !seen.insert(id) {
                return Err(SqsError::BatchEntryIdsNotDistinct(id.clone()));
            }
        }
        Ok(())
    }
}

/// What became of the entries. `Failed` is always there, `Successful` too.
fn batch_answer<E>(
    entries: Vec<Entry<E>>,
    mut act: impl FnMut(E) -> Result<Value, SqsError>,
) -> Value {
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for Entry { id, entry } in entries {
        match act(entry) {
            Ok(mut outcome) => {
                outcome["Id"] = Value::String(id);
                successful.push(outcome);
            }
            Err(error) => failed.push(json!({
                "Id": id,
                "Code": error.codes().1,
                "Message": error.message(),
                "SenderFault": true,
            })),
        }
    }
    json!({"Successful": successful, "Failed": failed})
}

fn send_message_batch(queues: &Queues, input: Batch<Outgoing>) -> Result<Value, SqsError> {
    let name = name_of(&input.queue_url)?;
    queues.exists(name)?;
    input.check()?;
    let bytes: usize = input
        .entries
        .iter()
        .map(|entry| entry.entry.message_body.as_ref().map_or(0, String::len))
        .sum();
    if bytes > MESSAGE_BYTES {
        return Err(SqsError::BatchRequestTooLong(bytes));
    }
    Ok(batch_answer(input.entries, |outgoing| {
        queues
            .send(name, outgoing.parse()?)
            .map(|message| sent(&message))
    }))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Handle {
    receipt_handle: String,
    visibility_timeout: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OfMessage {
    queue_url: String,
    #[serde(flatten)]
    handle: Handle,
}

fn delete_message(queues: &Queues, input: &OfMessage) -> Result<Value, SqsError> {
    queues.delete(name_of(&input.queue_url)?, &input.handle.receipt_handle)?;
    Ok(json!({}))
}

fn delete_message_batch(queues: &Queues, input: Batch<Handle>) -> Result<Value, SqsError> {
    let name = name_of(&input.queue_url)?;
    queues.exists(name)?;
    input.check()?;
    Ok(batch_answer(input.entries, |handle| {
        queues
            .delete(name, &handle.receipt_handle)
            .map(|()| json!({}))
    }))
}

fn change_visibility(queues: &Queues, input: &OfMessage) -> Result<Value, SqsError> {
    let name = name_of(&input.queue_url)?;
    queues.change_visibility(
        name,
        &input.handle.receipt_handle,
        input.handle.visibility()?,
    )?;
    Ok(json!({}))
}

fn change_visibility_batch(queues: &Queues, input: Batch<Handle>) -> Result<Value, SqsError> {
    let name = name_of(&input.queue_url)?;
    queues.exists(name)?;
    input.check()?;
    Ok(batch_answer(input.entries, |handle| {
        let seconds = handle.visibility()?;
        queues
            .change_visibility(name, &handle.receipt_handle, seconds)
            .map(|()| json!({}))
    }))
}

impl Handle {
    fn visibility(&self) -> Result<u64, SqsError> {
        let seconds = self.visibility_timeout.ok_or_else(|| {
            SqsError::MissingParameter(
                "The request must contain the parameter VisibilityTimeout.".to_owned(),
            )
        })?;
        // A negative time is answered as one beyond the limit.
        Ok(u64::try_from(seconds).unwrap_or(u64::MAX))
    }
}
