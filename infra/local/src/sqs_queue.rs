//! One queue in memory. Invariants: a message is in exactly one of the three places ready,
//! delayed, in flight; it is handed to one receiver at a time; only its latest receipt acts on
//! it. The queue has no clock of its own: every call says what time it is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::sqs_attributes::{DELAY_SECONDS, QueueAttributes, VISIBILITY_SECONDS};
use crate::sqs_error::SqsError;
use crate::sqs_message::{Message, NewMessage, Receipt, Received};

/// Received and neither deleted nor visible again, of one standard queue.
pub const IN_FLIGHT: usize = 120_000;

/// All messages of one queue. SQS has no such limit; memory does.
pub const QUEUE_BYTES: usize = 256 * 1024 * 1024;

#[derive(Debug, PartialEq, Eq)]
enum Place {
    Ready,
    Delayed(Instant),
    InFlight { until: Instant, received: Instant },
}

struct Stored {
    message: Arc<Message>,
    sent: Instant,
    bytes: usize,
    receive: u64,
    place: Place,
}

/// How many messages are where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub ready: usize,
    pub in_flight: usize,
    pub delayed: usize,
}

pub(crate) struct Queue {
    pub name: String,
    pub arn: String,
    pub attributes: QueueAttributes,
    pub created_seconds: u64,
    pub purged: Option<Instant>,
    /// Rings when a message may have become ready.
    pub bell: Arc<Notify>,
    nonce: u64,
    next_sequence: u64,
    bytes: usize,
    messages: BTreeMap<u64, Stored>,
    /// By group, so that a group with many messages in flight lets the others pass.
    ready: BTreeMap<Option<String>, BTreeSet<u64>>,
    delayed: BTreeSet<(Instant, u64)>,
    in_flight: BTreeSet<(Instant, u64)>,
    in_flight_by_group: HashMap<String, usize>,
}

impl Queue {
    pub fn new(name: &str, arn: String, attributes: QueueAttributes, created_seconds: u64) -> Self {
        Self {
            name: name.to_owned(),
            arn,
            attributes,
            created_seconds,
            purged: None,
            bell: Arc::new(Notify::new()),
            nonce: random(),
            next_sequence: 0,
            bytes: 0,
            messages: BTreeMap::new(),
            ready: BTreeMap::new(),
            delayed: BTreeSet::new(),
            in_flight: BTreeSet::new(),
            in_flight_by_group: HashMap::new(),
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
        self.store(Arc::new(message), bytes, now, delay)
    }

    /// Takes a message from a queue whose redrive policy names this one.
    pub fn bury(&mut self, buried: Buried, now: Instant) -> Result<(), SqsError> {
        self.store(buried.message, buried.bytes, now, Duration::ZERO)
            .map(drop)
    }

    fn store(
        &mut self,
        message: Arc<Message>,
        bytes: usize,
        now: Instant,
        delay: Duration,
    ) -> Result<Arc<Message>, SqsError> {
        if self.bytes + bytes > QUEUE_BYTES {
            return Err(SqsError::OverLimit(format!(
                "The queue {} holds {QUEUE_BYTES} bytes, which is all it may here.",
                self.name
            )));
        }
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.bytes += bytes;
        let stored = Stored {
            message: Arc::clone(&message),
            sent: now,
            bytes,
            receive: 0,
            place: Place::Ready,
        };
        self.messages.insert(sequence, stored);
        if delay.is_zero() {
            self.put(sequence, Place::Ready);
        } else {
            self.put(sequence, Place::Delayed(now + delay));
        }
        self.bell.notify_waiters();
        Ok(message)
    }

    /// Hands out up to `limits.messages` messages that are ready, and those that were received
    /// too often and belong into the dead-letter queue.
    pub fn receive(
        &mut self,
        limits: ReceiveLimits,
        now: Instant,
        now_millis: u64,
    ) -> Result<(Vec<Received>, Vec<Buried>), SqsError> {
        self.settle(now);
        let (mut received, mut buried, mut bytes) = (Vec::new(), Vec::new(), 0);
        while received.len() < limits.messages {
            let Some(sequence) = self.next_ready() else {
                break;
            };
            if self.in_flight.len() >= IN_FLIGHT {
                if received.is_empty() {
                    return Err(SqsError::OverLimit(
                        "Too many messages in flight for the queue.".to_owned(),
                    ));
                }
                break;
            }
            let Some(stored) = self.messages.get(&sequence) else {
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

    /// Of the groups with ready messages, the one with the fewest in flight; in it, or among
    /// equals, the oldest message.
    fn next_ready(&self) -> Option<u64> {
        let load = |group: &Option<String>| {
            group
                .as_ref()
                .and_then(|group| self.in_flight_by_group.get(group))
                .copied()
        };
        self.ready
            .iter()
            .filter_map(|(group, sequences)| Some((load(group).unwrap_or(0), *sequences.first()?)))
            .min()
            .map(|(_, sequence)| sequence)
    }

    fn hand_out(
        &mut self,
        sequence: u64,
        visibility: Option<Duration>,
        now: Instant,
        now_millis: u64,
    ) -> Option<Received> {
        let until = now + visibility.unwrap_or(self.attributes.visibility_timeout);
        let stored = self.messages.get_mut(&sequence)?;
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
        self.put(
            sequence,
            Place::InFlight {
                until,
                received: now,
            },
        );
        Some(Received {
            message,
            receipt_handle: receipt.handle(),
        })
    }

    fn exhume(&mut self, sequence: u64) -> Option<Buried> {
        let mut stored = self.remove(sequence)?;
        let message = Arc::make_mut(&mut stored.message);
        message.dead_letter_source_arn = Some(self.arn.clone());
        Some(Buried {
            message: stored.message,
            bytes: stored.bytes,
        })
    }

    /// Deletes the message of a receipt. An outdated receipt deletes nothing and is no error.
    pub fn delete(&mut self, handle: &str) -> Result<(), SqsError> {
        let receipt = self.receipt(handle)?;
        let current = self
            .messages
            .get(&receipt.sequence)
            .is_some_and(|stored| stored.receive == receipt.receive);
        if current {
            self.remove(receipt.sequence);
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
        self.settle(now);
        let gone = || {
            SqsError::InvalidParameterValue(format!(
                "Value {handle} for parameter ReceiptHandle is invalid. Reason: Message does not \
                 exist or is not available for visibility timeout change."
            ))
        };
        let stored = self.messages.get(&receipt.sequence).ok_or_else(gone)?;
        if stored.receive != receipt.receive {
            return Err(gone());
        }
        let Place::InFlight { received, .. } = stored.place else {
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
        let place = if seconds == 0 {
            Place::Ready
        } else {
            Place::InFlight { until, received }
        };
        self.put(receipt.sequence, place);
        // A receiver that waits has to look again: its next deadline may have moved.
        self.bell.notify_waiters();
        Ok(())
    }

    fn receipt(&self, handle: &str) -> Result<Receipt, SqsError> {
        Receipt::parse(handle)
            .filter(|receipt| receipt.queue == self.nonce && receipt.sequence < self.next_sequence)
            .ok_or(SqsError::ReceiptHandleIsInvalid)
    }

    pub fn purge(&mut self) {
        self.messages.clear();
        self.ready.clear();
        self.delayed.clear();
        self.in_flight.clear();
        self.in_flight_by_group.clear();
        self.bytes = 0;
    }

    pub fn counts(&mut self, now: Instant) -> Counts {
        self.settle(now);
        Counts {
            ready: self.ready.values().map(BTreeSet::len).sum(),
            in_flight: self.in_flight.len(),
            delayed: self.delayed.len(),
        }
    }

    /// When the next message becomes ready by itself.
    pub fn next_ready_at(&self) -> Option<Instant> {
        let delayed = self.delayed.first().map(|(at, _)| *at);
        let in_flight = self.in_flight.first().map(|(at, _)| *at);
        delayed.into_iter().chain(in_flight).min()
    }

    /// Brings every message to the place it has at `now`.
    fn settle(&mut self, now: Instant) {
        while let Some((_, sequence)) = self.delayed.first().filter(|(at, _)| *at <= now).copied() {
            self.put(sequence, Place::Ready);
        }
        while let Some((_, sequence)) = self.in_flight.first().filter(|(at, _)| *at <= now).copied()
        {
            self.put(sequence, Place::Ready);
        }
        let retention = self.attributes.retention;
        while let Some((sequence, stored)) = self.messages.first_key_value() {
            if now.duration_since(stored.sent) < retention {
                break;
            }
            self.remove(*sequence);
        }
    }

    fn put(&mut self, sequence: u64, place: Place) {
        self.take_from_place(sequence);
        let Some(stored) = self.messages.get_mut(&sequence) else {
            return;
        };
        let group = stored.message.group_id.clone();
        match place {
            Place::Ready => {
                self.ready.entry(group).or_default().insert(sequence);
            }
            Place::Delayed(at) => {
                self.delayed.insert((at, sequence));
            }
            Place::InFlight { until, .. } => {
                self.in_flight.insert((until, sequence));
                if let Some(group) = group {
                    *self.in_flight_by_group.entry(group).or_default() += 1;
                }
            }
        }
        stored.place = place;
    }

    fn take_from_place(&mut self, sequence: u64) {
        let Some(stored) = self.messages.get(&sequence) else {
            return;
        };
        let group = &stored.message.group_id;
        match stored.place {
            Place::Ready => {
                if let Some(sequences) = self.ready.get_mut(group) {
                    sequences.remove(&sequence);
                    if sequences.is_empty() {
                        self.ready.remove(group);
                    }
                }
            }
            Place::Delayed(at) => {
                self.delayed.remove(&(at, sequence));
            }
            Place::InFlight { until, .. } => {
                self.in_flight.remove(&(until, sequence));
                let Some(group) = group else { return };
                if let Some(count) = self.in_flight_by_group.get_mut(group) {
                    *count -= 1;
                    if *count == 0 {
                        self.in_flight_by_group.remove(group);
                    }
                }
            }
        }
    }

    fn remove(&mut self, sequence: u64) -> Option<Stored> {
        self.take_from_place(sequence);
        let stored = self.messages.remove(&sequence)?;
        self.bytes -= stored.bytes;
        Some(stored)
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
pub(crate) struct Buried {
    message: Arc<Message>,
    bytes: usize,
}

fn random() -> u64 {
    // The low half of a random UUID holds 62 random bits, enough that no handle is guessed.
    uuid::Uuid::new_v4().as_u64_pair().1
}
