//! The progress of a delivery, with its only possible transitions. An attempt is recorded before it is
//! made, so a crash consumes it and there is never a sixth; its end replaces exactly that record. One
//! without an end is under way for at most [`UNDER_WAY_MS`], and has failed then. A process that
//! recorded an attempt and did not make it may withdraw exactly that record.

use serde::{Deserialize, Serialize};

use super::DeliveryStatus;
use super::schedule::{ANSWER_LIMIT_MS, AttemptOutcome, Next, RetrySchedule};
use crate::{AttemptId, Timestamp};

/// How long after it was recorded an attempt may begin.
pub const BEGIN_MS: i64 = 5_000;
/// How long others leave an attempt alone: until it begins, what a receiver has, and time to record
/// the end.
pub const UNDER_WAY_MS: i64 = BEGIN_MS + ANSWER_LIMIT_MS + 10_000;
/// How long a function begins attempts; the last one is under way for [`UNDER_WAY_MS`] more.
pub const BATCH_MS: i64 = 20_000;
/// The longest that a function sends.
pub const SENDING_MS: i64 = BATCH_MS + UNDER_WAY_MS;
const UNSEEN: &str = "the service stopped during the attempt, and its result is unknown";

/// An attempt of a delivery. Without an end it is under way, or its process stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryAttempt {
    /// Its id.
    pub id: AttemptId,
    /// Its number, from 1.
    pub number: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The receiver's status, if it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
    /// The fault, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl DeliveryAttempt {
    fn is_under_way(&self) -> bool {
        self.duration_ms.is_none() && self.error.is_none()
    }
}

/// The report of an attempt that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendReport {
    /// What decides on the next attempt.
    pub outcome: AttemptOutcome,
    /// When it began: the message's `sent_at`.
    pub started_at: Timestamp,
    /// How long it took, in milliseconds, the reading of the answer's body included.
    pub duration_ms: i64,
    /// What went wrong, for the webhook's owner; none for a status of 2xx.
    pub error: Option<String>,
}

impl SendReport {
    /// When it was over: from then on the next attempt's delay is counted.
    #[must_use]
    pub fn ended_at(&self) -> Timestamp {
        self.started_at.plus_ms(self.duration_ms)
    }

    /// The status that the receiver answered with, if it did.
    #[must_use]
    pub fn status_code(&self) -> Option<u16> {
        match self.outcome {
            AttemptOutcome::Answered(status) => Some(status),
            AttemptOutcome::Unanswered => None,
        }
    }
}

/// The progress of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryProgress {
    /// The status.
    pub status: DeliveryStatus,
    /// The attempts, in order.
    pub attempts: Vec<DeliveryAttempt>,
    /// When the next attempt is due, if none is under way and one follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// Why it was abandoned without another attempt: a sentence without a full stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abandoned_reason: Option<String>,
}

/// The state that decides which events can happen to a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// An attempt follows.
    Waiting,
    /// An attempt is recorded whose end is not.
    UnderWay,
    /// It is delivered or abandoned.
    Over,
}

/// What can happen to a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryEvent {
    /// An attempt is recorded, to be made at once.
    Begun(AttemptId, Timestamp),
    /// The recorded attempt was not made.
    Withdrawn,
    /// The attempt was made, and this follows.
    Ended(SendReport, Next),
    /// The time of the attempt is over, its end was not recorded, and this follows.
    Unseen(Next),
    /// It is not wanted any more, for this reason.
    Abandoned(String),
}

impl DeliveryEvent {
    /// What follows, if it is the end of an attempt.
    #[must_use]
    pub fn next(&self) -> Option<Next> {
        match self {
            DeliveryEvent::Ended(_, next) | DeliveryEvent::Unseen(next) => Some(*next),
            DeliveryEvent::Begun(..) | DeliveryEvent::Withdrawn | DeliveryEvent::Abandoned(_) => {
                None
            }
        }
    }
}

/// What is to be done for a delivery at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStanding {
    /// Nothing: it is delivered or abandoned.
    Over,
    /// Nothing before then: it is not due, or an attempt is under way.
    Waits(Timestamp),
    /// An attempt is due, or the time of the one under way is over.
    Due,
}

impl DeliveryProgress {
    /// That of a new delivery, due at once.
    #[must_use]
    pub fn new(now: Timestamp) -> DeliveryProgress {
        DeliveryProgress {
            status: DeliveryStatus::Pending,
            attempts: Vec::new(),
            next_attempt_at: Some(now),
            abandoned_reason: None,
        }
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> DeliveryState {
        if self.status.is_terminal() {
            DeliveryState::Over
        } else if self.under_way().is_some() {
            DeliveryState::UnderWay
        } else {
            DeliveryState::Waiting
        }
    }

    /// Until when others leave the attempt under way alone.
    #[must_use]
    pub fn under_way_until(&self) -> Option<Timestamp> {
        let attempt = self.under_way();
        attempt.map(|attempt| attempt.started_at.plus_ms(UNDER_WAY_MS))
    }

    fn under_way(&self) -> Option<&DeliveryAttempt> {
        self.attempts.last().filter(|last| last.is_under_way())
    }

    /// What is to be done for it now.
    #[must_use]
    pub fn standing(&self, now: Timestamp) -> DeliveryStanding {
        let until = match self.state() {
            DeliveryState::Over => return DeliveryStanding::Over,
            DeliveryState::UnderWay => self.under_way_until(),
            DeliveryState::Waiting => self.next_attempt_at,
        };
        match until {
            Some(until) if until > now => DeliveryStanding::Waits(until),
            _ => DeliveryStanding::Due,
        }
    }

    /// What follows from the last attempt, if it ended so.
    #[must_use]
    pub fn next(&self, report: &SendReport, schedule: &RetrySchedule, random: u64) -> Next {
        let number = self.attempts.last().map_or(0, |last| last.number);
        schedule.after(number, report.outcome, report.ended_at(), random)
    }

    /// That the attempt under way has failed, if its time is over: its receiver had all of it.
    #[must_use]
    pub fn unseen_end(
        &self,
        now: Timestamp,
        schedule: &RetrySchedule,
        random: u64,
    ) -> Option<DeliveryEvent> {
        let attempt = self.under_way()?;
        if self.standing(now) != DeliveryStanding::Due {
            return None;
        }
        let at = attempt.started_at.plus_ms(BEGIN_MS + ANSWER_LIMIT_MS);
        let next = schedule.after(attempt.number, AttemptOutcome::Unanswered, at, random);
        Some(DeliveryEvent::Unseen(next))
    }

    /// The progress after `event`, or none if the event cannot happen in this state.
    #[must_use]
    pub fn after(self, event: DeliveryEvent) -> Option<DeliveryProgress> {
        use DeliveryEvent as E;
        use DeliveryState as S;
        match (self.state(), event) {
            (S::Waiting, E::Begun(id, now)) => Some(self.begun(id, now)),
            (S::Waiting, E::Abandoned(reason)) => Some(DeliveryProgress {
                abandoned_reason: Some(reason),
                ..self.followed_by(Next::Abandoned)
            }),
            (S::UnderWay, E::Withdrawn) => self.withdrawn(),
            (S::UnderWay, E::Ended(report, next)) => self.ended(next, |attempt| {
                attempt.started_at = report.started_at;
                attempt.duration_ms = Some(report.duration_ms);
                attempt.status_code = report.status_code();
                attempt.error = report.error;
            }),
            (S::UnderWay, E::Unseen(next)) => self.ended(next, |attempt| {
                attempt.error = Some(UNSEEN.to_owned());
            }),
            (S::Waiting, E::Withdrawn | E::Ended(..) | E::Unseen(_))
            | (S::UnderWay, E::Begun(..) | E::Abandoned(_))
            | (
                S::Over,
                E::Begun(..) | E::Withdrawn | E::Ended(..) | E::Unseen(_) | E::Abandoned(_),
            ) => None,
        }
    }

    fn begun(mut self, id: AttemptId, now: Timestamp) -> DeliveryProgress {
        let number = self.attempts.last().map_or(0, |last| last.number) + 1;
        self.attempts.push(DeliveryAttempt {
            id,
            number,
            started_at: now,
            duration_ms: None,
            status_code: None,
            error: None,
        });
        self.next_attempt_at = None;
        self
    }

    /// It was due when its attempt was recorded.
    fn withdrawn(mut self) -> Option<DeliveryProgress> {
        let attempt = self.attempts.pop()?;
        Some(self.followed_by(Next::Retry(attempt.started_at)))
    }

    fn ended(
        mut self,
        next: Next,
        end: impl FnOnce(&mut DeliveryAttempt),
    ) -> Option<DeliveryProgress> {
        end(self.attempts.last_mut()?);
        Some(self.followed_by(next))
    }

    fn followed_by(self, next: Next) -> DeliveryProgress {
        let next_attempt_at = match next {
            Next::Retry(at) => Some(at),
            Next::Delivered | Next::Abandoned | Next::Gone => None,
        };
        DeliveryProgress {
            status: next.status(),
            next_attempt_at,
            ..self
        }
    }
}

#[cfg(test)]
mod tests;
