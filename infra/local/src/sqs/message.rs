//! A message as sent, and the checksums that the SDKs verify. Invariant: an accepted message is
//! within every limit of SQS on one message.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};

use crate::sqs::error::SqsError;

/// Message attributes at most per message.
pub const ATTRIBUTES: usize = 10;

/// Letters of a message group id.
pub const GROUP_ID_LETTERS: usize = 128;

/// One entry of `MessageAttributes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct MessageAttribute {
    pub data_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string_value: Option<String>,
    /// Base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary_value: Option<String>,
}

pub type MessageAttributes = BTreeMap<String, MessageAttribute>;

/// What a sender gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewMessage {
    pub body: String,
    /// Seconds; `None` is the queue's own delay.
    pub delay_seconds: Option<u64>,
    pub attributes: MessageAttributes,
    /// On a standard queue this makes it a fair queue.
    pub group_id: Option<String>,
    pub trace_header: Option<String>,
}

impl NewMessage {
    /// A message with a body and nothing else.
    pub fn text(body: impl Into<String>) -> Self {
        Self {
            body: body.into(),
            ..Self::default()
        }
    }

    /// Bytes that count towards the limit: the body and every part of the attributes.
    pub(crate) fn bytes(&self) -> usize {
        let attributes: usize = self
            .attributes
            .iter()
            .map(|(name, attribute)| {
                name.len()
                    + attribute.data_type.len()
                    + attribute.string_value.as_ref().map_or(0, String::len)
                    + attribute
                        .binary_value
                        .as_ref()
                        .map_or(0, |value| value.len() / 4 * 3)
            })
            .sum();
        self.body.len() + attributes
    }

    /// Checks what does not depend on a queue.
    pub(crate) fn check(&self) -> Result<(), SqsError> {
        if self.body.is_empty() {
            return Err(SqsError::MissingParameter(
                "The request must contain the parameter MessageBody.".to_owned(),
            ));
        }
        if !self.body.chars().all(allowed) {
            return Err(SqsError::InvalidMessageContents);
        }
        if self.attributes.len() > ATTRIBUTES {
            return Err(SqsError::InvalidParameterValue(format!(
                "Number of message attributes [{}] exceeds the allowed maximum [{ATTRIBUTES}].",
                self.attributes.len()
            )));
        }
        for (name, attribute) in &self.attributes {
            value_bytes(name, attribute)?;
        }
        let group_fits = self
            .group_id
            .as_ref()
            .is_none_or(|id| !id.is_empty() && id.chars().count() <= GROUP_ID_LETTERS);
        if !group_fits {
            return Err(SqsError::InvalidParameterValue(
                "Value for parameter MessageGroupId is invalid. Reason: MessageGroupId can only \
                 include alphanumeric and punctuation characters. 1 to 128 in length."
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

/// A message together with what SQS knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: String,
    pub body: String,
    pub attributes: MessageAttributes,
    pub group_id: Option<String>,
    pub trace_header: Option<String>,
    /// Milliseconds since 1970.
    pub sent_millis: u64,
    pub first_received_millis: Option<u64>,
    pub receive_count: u64,
    pub dead_letter_source_arn: Option<String>,
}

/// A message in a receiver's hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedMessage {
    pub message: Arc<Message>,
    pub receipt_handle: String,
}

/// What stands in a receipt handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub queue: u64,
    pub sequence: u64,
    pub receive: u64,
}

impl Receipt {
    pub fn handle(self) -> String {
        format!(
            "AQEB{:016x}{:016x}{:016x}",
            self.queue, self.sequence, self.receive
        )
    }

    pub fn parse(handle: &str) -> Option<Self> {
        let digits = handle
            .strip_prefix("AQEB")
            .filter(|digits| digits.len() == 48)?;
        let part = |from: usize| u64::from_str_radix(digits.get(from..from + 16)?, 16).ok();
        Some(Self {
            queue: part(0)?,
            sequence: part(16)?,
            receive: part(32)?,
        })
    }
}

/// The characters of XML 1.0, which SQS still has from its first protocol.
fn allowed(character: char) -> bool {
    matches!(character, '\u{9}' | '\u{a}' | '\u{d}' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn value_bytes(name: &str, attribute: &MessageAttribute) -> Result<(u8, Vec<u8>), SqsError> {
    let invalid = |reason: &str| {
        SqsError::InvalidParameterValue(format!("The message attribute '{name}' {reason}"))
    };
    let family = attribute.data_type.split('.').next().unwrap_or_default();
    match (family, &attribute.string_value, &attribute.binary_value) {
        ("String" | "Number", Some(text), None) if !text.is_empty() => {
            Ok((1, text.as_bytes().to_vec()))
        }
        ("Binary", None, Some(base64)) => STANDARD
            .decode(base64)
            .map(|bytes| (2, bytes))
            .map_err(|_| invalid("has a binary value that is no Base64.")),
        ("String" | "Number" | "Binary", _, _) => {
            Err(invalid("must contain a non-empty value of its own type."))
        }
        _ => Err(invalid(
            "has an invalid message attribute type, the set of supported type \
             prefixes is Binary, Number, and String.",
        )),
    }
}

pub(crate) fn md5_of_body(body: &str) -> String {
    hex::encode(Md5::digest(body.as_bytes()))
}

/// `None` without attributes, as SQS leaves the field out then.
pub(crate) fn md5_of_attributes(attributes: &MessageAttributes) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let mut digest = Md5::new();
    for (name, attribute) in attributes {
        // Attributes were checked when they were accepted.
        let Ok((kind, value)) = value_bytes(name, attribute) else {
            continue;
        };
        digest_part(&mut digest, name.as_bytes());
        digest_part(&mut digest, attribute.data_type.as_bytes());
        digest.update([kind]);
        digest_part(&mut digest, &value);
    }
    Some(hex::encode(digest.finalize()))
}

fn digest_part(digest: &mut Md5, bytes: &[u8]) {
    digest.update(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    digest.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the SQS developer guide's Lambda chapter.
    #[test]
    fn the_checksum_of_a_body_is_its_md5() {
        assert_eq!(
            md5_of_body("Hello from SQS!"),
            "7b270e59b47ff90a553787216d55d91d"
        );
    }

    #[test]
    fn control_characters_are_refused() {
        assert_eq!(
            NewMessage::text("a\u{1}b").check(),
            Err(SqsError::InvalidMessageContents)
        );
        assert_eq!(NewMessage::text("tab\t, line\n, \u{1f600}").check(), Ok(()));
    }
}
