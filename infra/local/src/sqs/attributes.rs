//! A queue's attributes. Invariant: a queue only ever holds values that SQS accepts.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::sqs::error::SqsError;

/// Largest message, and the default maximum of a queue.
pub const MESSAGE_BYTES: usize = 1024 * 1024;
pub const DELAY_SECONDS: u64 = 900;
pub const VISIBILITY_SECONDS: u64 = 43_200;
pub const WAIT_SECONDS: u64 = 20;
pub const RETENTION_SECONDS: std::ops::RangeInclusive<u64> = 60..=1_209_600;
pub const RECEIVES: std::ops::RangeInclusive<u64> = 1..=1000;

/// Attributes without effect on a queue in memory; stored and returned.
const STORED: [&str; 5] = [
    "KmsDataKeyReusePeriodSeconds",
    "KmsMasterKeyId",
    "Policy",
    "RedriveAllowPolicy",
    "SqsManagedSseEnabled",
];

/// Where messages go that were received too often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedrivePolicy {
    /// Of a queue of this local cloud.
    pub dead_letter_target_arn: String,
    /// Receives after which the next one moves the message.
    pub max_receive_count: u64,
}

/// What a queue was set up with. Start from the default and change what differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueAttributes {
    pub visibility_timeout: Duration,
    pub delay: Duration,
    /// Default wait of a receive.
    pub receive_wait: Duration,
    pub retention: Duration,
    pub maximum_message_bytes: usize,
    pub redrive_policy: Option<RedrivePolicy>,
    /// Attributes that are only stored and given back, as `Policy`.
    pub stored: BTreeMap<String, String>,
}

impl Default for QueueAttributes {
    fn default() -> Self {
        Self {
            visibility_timeout: Duration::from_secs(30),
            delay: Duration::ZERO,
            receive_wait: Duration::ZERO,
            retention: Duration::from_secs(345_600),
            maximum_message_bytes: MESSAGE_BYTES,
            redrive_policy: None,
            stored: BTreeMap::new(),
        }
    }
}

impl QueueAttributes {
    /// Takes over what a request sets.
    pub(crate) fn set(&mut self, attributes: &BTreeMap<String, String>) -> Result<(), SqsError> {
        for (name, value) in attributes {
            self.set_one(name, value)?;
        }
        Ok(())
    }

    fn set_one(&mut self, name: &str, value: &str) -> Result<(), SqsError> {
        match name {
            "VisibilityTimeout" => {
                self.visibility_timeout = seconds(name, value, 0..=VISIBILITY_SECONDS)?;
            }
            "DelaySeconds" => self.delay = seconds(name, value, 0..=DELAY_SECONDS)?,
            "ReceiveMessageWaitTimeSeconds" => {
                self.receive_wait = seconds(name, value, 0..=WAIT_SECONDS)?;
            }
            "MessageRetentionPeriod" => self.retention = seconds(name, value, RETENTION_SECONDS)?,
            "MaximumMessageSize" => {
                let bytes = number(name, value, 1024..=MESSAGE_BYTES as u64)?;
                self.maximum_message_bytes = usize::try_from(bytes).unwrap_or(MESSAGE_BYTES);
            }
            "RedrivePolicy" => self.redrive_policy = redrive_policy(value)?,
            "FifoQueue" | "ContentBasedDeduplication" => {
                return Err(SqsError::InvalidAttributeValue(
                    "The local cloud serves standard queues only.".to_owned(),
                ));
            }
            name if STORED.contains(&name) => {
                self.stored.insert(name.to_owned(), value.to_owned());
            }
            name => {
                return Err(SqsError::InvalidAttributeName(format!(
                    "Unknown Attribute {name}."
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn render(&self) -> BTreeMap<String, String> {
        let mut all = self.stored.clone();
        let mut put = |name: &str, value: String| all.insert(name.to_owned(), value);
        put(
            "VisibilityTimeout",
            self.visibility_timeout.as_secs().to_string(),
        );
        put("DelaySeconds", self.delay.as_secs().to_string());
        put(
            "ReceiveMessageWaitTimeSeconds",
            self.receive_wait.as_secs().to_string(),
        );
        put(
            "MessageRetentionPeriod",
            self.retention.as_secs().to_string(),
        );
        put("MaximumMessageSize", self.maximum_message_bytes.to_string());
        if let Some(policy) = &self.redrive_policy {
            let policy = serde_json::json!({
                "deadLetterTargetArn": policy.dead_letter_target_arn,
                "maxReceiveCount": policy.max_receive_count,
            });
            put("RedrivePolicy", policy.to_string());
        }
        all
    }
}

fn number(name: &str, value: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, SqsError> {
    value
        .parse()
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            SqsError::InvalidAttributeValue(format!("Invalid value for the parameter {name}."))
        })
}

fn seconds(
    name: &str,
    value: &str,
    range: std::ops::RangeInclusive<u64>,
) -> Result<Duration, SqsError> {
    number(name, value, range).map(Duration::from_secs)
}

/// An empty value takes the policy away. The count is a number or, as some tools write it, a
/// string.
fn redrive_policy(value: &str) -> Result<Option<RedrivePolicy>, SqsError> {
    if value.is_empty() {
        return Ok(None);
    }
    let invalid = |reason: &str| {
        SqsError::InvalidAttributeValue(format!(
            "Value {value} for parameter RedrivePolicy is invalid. Reason: {reason}"
        ))
    };
    let policy: Value = serde_json::from_str(value)
        .map_err(|_| invalid("Redrive policy is not a valid JSON map."))?;
    let target = policy
        .get("deadLetterTargetArn")
        .and_then(Value::as_str)
        .ok_or_else(|| {
            invalid("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
        })?;
    let count = match policy.get("maxReceiveCount") {
        Some(Value::Number(number)) => number.as_u64(),
        Some(Value::String(text)) => text.parse().ok(),
        _ => {
            return Err(invalid(
                "Redrive policy does not contain mandatory attribute: maxReceiveCount.",
            ));
        }
    };
    let count = count
        .filter(|count| RECEIVES.contains(count))
        .ok_or_else(|| invalid("Invalid value for maxReceiveCount: must be between 1 and 1000."))?;
    Ok(Some(RedrivePolicy {
        dead_letter_target_arn: target.to_owned(),
        max_receive_count: count,
    }))
}
