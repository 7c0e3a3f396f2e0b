//! A queue's messages. Invariant: each is in exactly one of the three states ready, delayed and in
//! flight, and the indices agree with it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::sqs::message::Message;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    Ready,
    Delayed(Instant),
    InFlight { until: Instant, received: Instant },
}

pub(crate) struct StoredMessage {
    pub message: Arc<Message>,
    pub sent: Instant,
    pub bytes: usize,
    /// The number of the latest receive; only its receipt is valid.
    pub receive: u64,
    visibility: Visibility,
}

/// How many messages are where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub ready: usize,
    pub in_flight: usize,
    pub delayed: usize,
}

#[derive(Default)]
pub(crate) struct Store {
    next_sequence: u64,
    bytes: usize,
    messages: BTreeMap<u64, StoredMessage>,
    /// By group, so that a group with many messages in flight lets the others pass.
    ready: BTreeMap<Option<String>, BTreeSet<u64>>,
    delayed: BTreeSet<(Instant, u64)>,
    in_flight: BTreeSet<(Instant, u64)>,
    in_flight_by_group: HashMap<String, usize>,
}

impl Store {
    pub fn insert(
        &mut self,
        message: Arc<Message>,
        bytes: usize,
        now: Instant,
        visibility: Visibility,
    ) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.bytes += bytes;
        let stored = StoredMessage {
            message,
            sent: now,
            bytes,
            receive: 0,
            visibility,
        };
        self.messages.insert(sequence, stored);
        self.put(sequence, visibility);
    }

    pub fn get(&self, sequence: u64) -> Option<&StoredMessage> {
        self.messages.get(&sequence)
    }

    /// The visibility cannot be changed this way; see [`Self::put`].
    pub fn get_mut(&mut self, sequence: u64) -> Option<&mut StoredMessage> {
        self.messages.get_mut(&sequence)
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether a message was ever stored under this number.
    pub fn knew(&self, sequence: u64) -> bool {
        sequence < self.next_sequence
    }

    pub fn counts(&self) -> Counts {
        Counts {
            ready: self.ready.values().map(BTreeSet::len).sum(),
            in_flight: self.in_flight.len(),
            delayed: self.delayed.len(),
        }
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// When the next message becomes ready by itself.
    pub fn next_ready_at(&self) -> Option<Instant> {
        let delayed = self.delayed.first().map(|(at, _)| *at);
        let in_flight = self.in_flight.first().map(|(at, _)| *at);
        delayed.into_iter().chain(in_flight).min()
    }

    /// Of the groups with ready messages, the one with the fewest in flight; among equals, the
    /// one whose first message is the oldest.
    pub fn next_ready(&self) -> Option<u64> {
        let load = |group: &Option<String>| {
            let group = group.as_ref()?;
            self.in_flight_by_group.get(group).copied()
        };
        self.ready
            .iter()
            .filter_map(|(group, sequences)| Some((load(group).unwrap_or(0), *sequences.first()?)))
            .min()
            .map(|(_, sequence)| sequence)
    }

    /// Brings every message to the visibility that it has at `now`, and drops what is too old.
    pub fn settle(&mut self, now: Instant, retention: Duration) {
        while let Some((_, sequence)) = first_due(&self.delayed, now) {
            self.put(sequence, Visibility::Ready);
        }
        while let Some((_, sequence)) = first_due(&self.in_flight, now) {
            self.put(sequence, Visibility::Ready);
        }
        while let Some((sequence, stored)) = self.messages.first_key_value() {
            if now.duration_since(stored.sent) < retention {
                break;
            }
            self.remove(*sequence);
        }
    }

    pub fn put(&mut self, sequence: u64, visibility: Visibility) {
        self.take_from_place(sequence);
        let Some(stored) = self.messages.get_mut(&sequence) else {
            return;
        };
        stored.visibility = visibility;
        let group = stored.message.group_id.clone();
        match visibility {
            Visibility::Ready => {
                self.ready.entry(group).or_default().insert(sequence);
            }
            Visibility::Delayed(at) => {
                self.delayed.insert((at, sequence));
            }
            Visibility::InFlight { until, .. } => {
                self.in_flight.insert((until, sequence));
                if let Some(group) = group {
                    *self.in_flight_by_group.entry(group).or_default() += 1;
                }
            }
        }
    }

    fn take_from_place(&mut self, sequence: u64) {
        let Some(stored) = self.messages.get(&sequence) else {
            return;
        };
        let group = &stored.message.group_id;
        match stored.visibility {
            Visibility::Ready => {
                let Some(sequences) = self.ready.get_mut(group) else {
                    return;
                };
                sequences.remove(&sequence);
                if sequences.is_empty() {
                    self.ready.remove(group);
                }
            }
            Visibility::Delayed(at) => {
                self.delayed.remove(&(at, sequence));
            }
            Visibility::InFlight { until, .. } => {
                let was_there = self.in_flight.remove(&(until, sequence));
                let Some(group) = group.as_ref().filter(|_| was_there) else {
                    return;
                };
                if let Some(count) = self.in_flight_by_group.get_mut(group) {
                    *count -= 1;
                    if *count == 0 {
                        self.in_flight_by_group.remove(group);
                    }
                }
            }
        }
    }

    pub fn remove(&mut self, sequence: u64) -> Option<StoredMessage> {
        self.take_from_place(sequence);
        let stored = self.messages.remove(&sequence)?;
        self.bytes -= stored.bytes;
        Some(stored)
    }

    /// Forgets all messages but not the numbers that were given, so that old receipts stay
    /// receipts of this queue.
    pub fn clear(&mut self) {
        *self = Self {
            next_sequence: self.next_sequence,
            ..Self::default()
        };
    }
}

impl StoredMessage {
    pub fn visibility(&self) -> Visibility {
        self.visibility
    }
}

fn first_due(places: &BTreeSet<(Instant, u64)>, now: Instant) -> Option<(Instant, u64)> {
    places.first().copied().filter(|(at, _)| *at <= now)
}
