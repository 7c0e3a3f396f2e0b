//! SQS's refusals. Invariant: each has its code in both protocols, since the SDKs report the one of
//! the old query protocol.

use crate::aws_json::Refusal;

/// What SQS refuses, in its own terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqsError {
    QueueDoesNotExist,
    QueueNameExists(String),
    InvalidParameterValue(String),
    InvalidAttributeName(String),
    InvalidAttributeValue(String),
    MissingParameter(String),
    ReceiptHandleIsInvalid,
    MessageNotInflight,
    InvalidMessageContents,
    OverLimit(String),
    EmptyBatchRequest,
    TooManyEntriesInBatchRequest(usize),
    BatchEntryIdsNotDistinct(String),
    BatchRequestTooLong(usize),
    InvalidBatchEntryId,
    PurgeQueueInProgress,
    UnsupportedOperation(String),
}

impl std::fmt::Display for SqsError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (code, _) = self.codes();
        write!(formatter, "{code}: {}", self.message())
    }
}

impl std::error::Error for SqsError {}

impl SqsError {
    /// The code of the JSON protocol and the code of the query protocol.
    pub(crate) fn codes(&self) -> (&'static str, &'static str) {
        match self {
            Self::QueueDoesNotExist => (
                "com.amazonaws.sqs#QueueDoesNotExist",
                "AWS.SimpleQueueService.NonExistentQueue",
            ),
            Self::QueueNameExists(_) => ("com.amazonaws.sqs#QueueNameExists", "QueueAlreadyExists"),
            Self::InvalidParameterValue(_) => (
                "com.amazon.coral.service#InvalidParameterValueException",
                "InvalidParameterValue",
            ),
            Self::InvalidAttributeName(_) => (
                "com.amazonaws.sqs#InvalidAttributeName",
                "InvalidAttributeName",
            ),
            Self::InvalidAttributeValue(_) => (
                "com.amazonaws.sqs#InvalidAttributeValue",
                "InvalidAttributeValue",
            ),
            Self::MissingParameter(_) => (
                "com.amazon.coral.service#MissingRequiredParameterException",
                "MissingParameter",
            ),
            Self::ReceiptHandleIsInvalid => (
                "com.amazonaws.sqs#ReceiptHandleIsInvalid",
                "ReceiptHandleIsInvalid",
            ),
            Self::MessageNotInflight => (
                "com.amazonaws.sqs#MessageNotInflight",
                "AWS.SimpleQueueService.MessageNotInflight",
            ),
            Self::InvalidMessageContents => (
                "com.amazonaws.sqs#InvalidMessageContents",
                "InvalidMessageContents",
            ),
            Self::OverLimit(_) => ("com.amazonaws.sqs#OverLimit", "OverLimit"),
            Self::EmptyBatchRequest => (
                "com.amazonaws.sqs#EmptyBatchRequest",
                "AWS.SimpleQueueService.EmptyBatchRequest",
            ),
            Self::TooManyEntriesInBatchRequest(_) => (
                "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
                "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
            ),
            Self::BatchEntryIdsNotDistinct(_) => (
                "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
                "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            ),
            Self::BatchRequestTooLong(_) => (
                "com.amazonaws.sqs#BatchRequestTooLong",
                "AWS.SimpleQueueService.BatchRequestTooLong",
            ),
            Self::InvalidBatchEntryId => (
                "com.amazonaws.sqs#InvalidBatchEntryId",
                "AWS.SimpleQueueService.InvalidBatchEntryId",
            ),
            Self::PurgeQueueInProgress => (
                "com.amazonaws.sqs#PurgeQueueInProgress",
                "AWS.SimpleQueueService.PurgeQueueInProgress",
            ),
            Self::UnsupportedOperation(_) => (
                "com.amazonaws.sqs#UnsupportedOperation",
                "AWS.SimpleQueueService.UnsupportedOperation",
            ),
        }
    }

    pub(crate) fn message(&self) -> String {
        match self {
            Self::QueueDoesNotExist => "The specified queue does not exist.".to_owned(),
            Self::QueueNameExists(name) => format!(
                "A queue already exists with the name {name} and other values of its attributes."
            ),
            Self::InvalidParameterValue(text)
            | Self::InvalidAttributeName(text)
            | Self::InvalidAttributeValue(text)
            | Self::MissingParameter(text)
            | Self::OverLimit(text)
            | Self::UnsupportedOperation(text) => text.clone(),
            Self::ReceiptHandleIsInvalid => "The input receipt handle is invalid.".to_owned(),
            Self::MessageNotInflight => "The message is not in flight.".to_owned(),
            Self::InvalidMessageContents => {
                "The message contains characters outside the allowed set.".to_owned()
            }
            Self::EmptyBatchRequest => {
                "There should be at least one entry in the request.".to_owned()
            }
            Self::TooManyEntriesInBatchRequest(count) => {
                format!("Maximum number of entries per request are 10. You have sent {count}.")
            }
            Self::BatchEntryIdsNotDistinct(id) => format!("Id {id} repeated."),
            Self::BatchRequestTooLong(bytes) => format!(
                "Batch requests cannot be longer than 1048576 bytes. You have sent {bytes} bytes."
            ),
            Self::InvalidBatchEntryId => "A batch entry id can only contain alphanumeric \
                 characters, hyphens and underscores. It can be at most 80 letters long."
                .to_owned(),
            Self::PurgeQueueInProgress => {
                "Only one PurgeQueue operation is allowed every 60 seconds.".to_owned()
            }
        }
    }
}

impl From<SqsError> for Refusal {
    fn from(error: SqsError) -> Self {
        let (code, query_code) = error.codes();
        Self::new(400, code, error.message()).with_query_error(query_code)
    }
}
