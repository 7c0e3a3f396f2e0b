//! One queue in memory. Invariants: a message has one receiver at a time; only its latest receipt
//! acts on it; a limit of SQS is checked before anything changes. The queue has no clock of its
//! own: every call passes the time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::sqs::attributes::{DELAY_SECONDS, QueueAttributes, VISIBILITY_SECONDS};
use crate::sqs::error::SqsError;
use crate::sqs::message::{Message, NewMessage, Receipt, ReceivedMessage};
use crate::sqs::store::{Counts, Store, Visibility};

/// Received and neither deleted nor visible again, of one standard queue.
pub const IN_FLIGHT: usize = 120_000;

/// All messages of one queue. SQS has no such limit; memory does.
pub const QUEUE_BYTES: usize = 256 * 1024 * 1024;

pub(crate) struct Queue {
    pub name: String,
    pub arn: String,
    pub attributes: QueueAttributes,
    pub created_seconds: u64,
    pub purged: Option<Instant>,
    /// Notified when a message may have become ready.
    pub arrivals: Arc<Notify>,
    nonce: u64,
    store: Store,
}

impl Queue {
    pub fn new(name: &str, arn: String, attributes: QueueAttributes, created_seconds: u64) -> Self {
        Self {
            name: name.to_owned(),
            arn,
            attributes,
            created_seconds,
            purged: None,
            arrivals: Arc::new(Notify::new()),
            nonce: random(),
            store: Store::default(),
        }
    }

    /// Takes a message in.
    pub fn send(
        &mut self,
        new: NewMessage,
        now: Instant,
        now_millis: u64,
    ) -> Result<Arc<Message>, SqsError> {
        new.check()?;
        let bytes = new.bytes();
        let limit = self.attributes.maximum_message_bytes;
        if bytes > limit {
            return Err(SqsError::InvalidParameterValue(format!(
                "One or more parameters are invalid. Reason: Message must be shorter than {limit} bytes."
            )));
        }
        let delay = match new.delay_seconds {
            None => self.attributes.delay,
            Some(seconds) if seconds <= DELAY_SECONDS => Duration::from_secs(seconds),
            Some(seconds) => {
                return Err(SqsError::InvalidParameterValue(format!(
                    "Value {seconds} for parameter DelaySeconds is invalid. Reason: DelaySeconds \
                     must be >= 0 and <= {DELAY_SECONDS}."
                )));
            }
        };
        let message = Message {
            id: uuid::Uuid::new_v4().to_string(),
            body: new.body,
            attributes: new.attributes,
            group_id: new.group_id,
            trace_header: new.trace_header,
            sent_millis: now_millis,
            first_received_millis: None,
            receive_count: 0,
            dead_letter_source_arn: None,
        };
        let message = Arc::new(message);
        self.insert(Arc::clone(&message), bytes, now, delay)?;
        Ok(message)
    }

    /// Takes a message from a queue whose redrive policy names this one.
    pub fn bury(&mut self, buried: DeadLetter, now: Instant) -> Result<(), SqsError> {
        self.insert(buried.message, buried.bytes, now, Duration::ZERO)
    }

    fn insert(
        &mut self,
        message: Arc<Message>,
        bytes: usize,
        now: Instant,
        delay: Duration,
    ) -> Result<(), SqsError> {
        if self.store.bytes() + bytes > QUEUE_BYTES {
            return Err(SqsError::OverLimit(format!(
                "The queue {} holds {QUEUE_BYTES} bytes, which is all it may here.",
                self.name
            )));
        }
        let visibility = if delay.is_zero() {
            Visibility::Ready
        } else {
            Visibility::Delayed(now + delay)
        };
        self.store.insert(message, bytes, now, visibility);
        self.arrivals.notify_waiters();
        Ok(())
    }

    /// Hands out up to `limits.messages` messages that are ready, and those that were received
    /// too often and belong into the dead-letter queue.
    pub fn receive(
        &mut self,
        limits: ReceiveLimits,
        now: Instant,
        now_millis: u64,
    ) -> Result<(Vec<ReceivedMessage>, Vec<DeadLetter>), SqsError> {
        self.store.settle(now, self.attributes.retention);
        let (mut received, mut buried, mut bytes) = (Vec::new(), Vec::new(), 0);
        while received.len() < limits.messages {
            let Some(sequence) = self.store.next_ready() else {
                break;
            };
            if self.store.in_flight() >= IN_FLIGHT {
                if received.is_empty() {
                    return Err(SqsError::OverLimit(
                        "Too many messages in flight for the queue.".to_owned(),
                    ));
                }
                break;
            }
            let Some(stored) = self.store.get(sequence) else {
                break;
            };
            if self.is_spent(&stored.message) {
                buried.extend(self.exhume(sequence));
                continue;
            }
            if !received.is_empty() && bytes + stored.bytes > limits.bytes {
                break;
            }
            bytes += stored.bytes;
            received.extend(self.hand_out(sequence, limits.visibility, now, now_millis));
        }
        Ok((received, buried))
    }

    fn is_spent(&self, message: &Message) -> bool {
        self.attributes
            .redrive_policy
            .as_ref()
            .is_some_and(|policy| message.receive_count >= policy.max_receive_count)
    }

    fn hand_out(
        &mut self,
        sequence: u64,
        visibility: Option<Duration>,
        now: Instant,
        now_millis: u64,
    ) -> Option<ReceivedMessage> {
        let until = now + visibility.unwrap_or(self.attributes.visibility_timeout);
        let stored = self.store.get_mut(sequence)?;
        let message = Arc::make_mut(&mut stored.message);
        message.receive_count += 1;
        message.first_received_millis.get_or_insert(now_millis);
        stored.receive = random();
        let receipt = Receipt {
            queue: self.nonce,
            sequence,
            receive: stored.receive,
        };
        let message = Arc::clone(&stored.message);
        self.store.put(
            sequence,
            Visibility::InFlight {
                until,
                received: now,
            },
        );
        Some(ReceivedMessage {
            message,
            receipt_handle: receipt.handle(),
        })
    }

    fn exhume(&mut self, sequence: u64) -> Option<DeadLetter> {
        let mut stored = self.store.remove(sequence)?;
        let message = Arc::make_mut(&mut stored.message);
        message.dead_letter_source_arn = Some(self.arn.clone());
        Some(DeadLetter {
            message: stored.message,
            bytes: stored.bytes,
        })
    }

    /// Deletes the message of a receipt. An outdated receipt deletes nothing and is no error.
    pub fn delete(&mut self, handle: &str) -> Result<(), SqsError> {
        let receipt = self.receipt(handle)?;
        let current = self
            .store
            .get(receipt.sequence)
            .is_some_and(|stored| stored.receive == receipt.receive);
        if current {
            self.store.remove(receipt.sequence);
        }
        Ok(())
    }

    /// Lets a message in flight become visible after `seconds`, zero being at once.
    pub fn change_visibility(
        &mut self,
        handle: &str,
        seconds: u64,
        now: Instant,
    ) -> Result<(), SqsError> {
        if seconds > VISIBILITY_SECONDS {
            return Err(SqsError::InvalidParameterValue(format!(
                "Value {seconds} for parameter VisibilityTimeout is invalid. Reason: \
                 VisibilityTimeout must be an integer between 0 and {VISIBILITY_SECONDS}."
            )));
        }
        let receipt = self.receipt(handle)?;
        self.store.settle(now, self.attributes.retention);
        let gone = || {
            SqsError::InvalidParameterValue(format!(
                "Value {handle} for parameter ReceiptHandle is invalid. Reason: Message does not \
                 exist or is not available for visibility timeout change."
            ))
        };
        let stored = self.store.get(receipt.sequence).ok_or_else(gone)?;
        if stored.receive != receipt.receive {
            return Err(gone());
        }
        let Visibility::InFlight { received, .. } = stored.visibility() else {
            return Err(SqsError::MessageNotInflight);
        };
        let until = now + Duration::from_secs(seconds);
        if until.duration_since(received)
            > Duration::from_secs(VISIBILITY_SECONDS) + Duration::from_secs(1)
        {
            return Err(SqsError::InvalidParameterValue(format!(
                "Total VisibilityTimeout for the message is beyond the limit [{VISIBILITY_SECONDS} \
                 seconds]"
            )));
        }
        let visibility = if seconds == 0 {
            Visibility::Ready
        } else {
            Visibility::InFlight { until, received }
        };
        self.store.put(receipt.sequence, visibility);
        // A receiver that waits has to read again: its next deadline may have changed.
        self.arrivals.notify_waiters();
        Ok(())
    }

    fn receipt(&self, handle: &str) -> Result<Receipt, SqsError> {
        Receipt::parse(handle)
            .filter(|receipt| receipt.queue == self.nonce && self.store.knew(receipt.sequence))
            .ok_or(SqsError::ReceiptHandleIsInvalid)
    }

    pub fn purge(&mut self) {
        self.store.clear();
    }

    pub fn counts(&mut self, now: Instant) -> Counts {
        self.store.settle(now, self.attributes.retention);
        self.store.counts()
    }

    /// When the next message becomes ready by itself.
    pub fn next_ready_at(&self) -> Option<Instant> {
        self.store.next_ready_at()
    }
}

/// How much one receive takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveLimits {
    pub messages: usize,
    /// A first message is handed out whatever its size.
    pub bytes: usize,
    pub visibility: Option<Duration>,
}

/// A message on its way to the dead-letter queue.
pub(crate) struct DeadLetter {
    message: Arc<Message>,
    bytes: usize,
}

fn random() -> u64 {
    // The low half of a random UUID holds 62 random bits, enough that no handle is guessed.
    uuid::Uuid::new_v4().as_u64_pair().1
}
