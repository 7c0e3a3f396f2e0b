//! Attempts of deliveries. An attempt is recorded before it is made, so a crash consumes it and
//! there is never a sixth; its outcome replaces exactly that record. One without an outcome is
//! under way for at most [`UNDER_WAY_MS`], and has failed then. A process that recorded an attempt
//! and did not make it may withdraw exactly that record.

pub(crate) mod writing;

use awo_domain::webhook::DeliveryStatus;
use awo_domain::webhook::schedule::{ANSWER_LIMIT_MS, AttemptOutcome, Next, Schedule};
use awo_domain::{AttemptId, Timestamp};

use crate::webhooks::deliveries::{Attempt, Delivery};
use crate::webhooks::outbox::NOTIFICATION_MS;

/// How long after it was noted an attempt may begin.
pub const BEGIN_MS: i64 = 5_000;
/// How long others leave an attempt alone: until it begins, what a receiver has, and time to note
/// the end.
pub const UNDER_WAY_MS: i64 = BEGIN_MS + ANSWER_LIMIT_MS + 10_000;
const NOBODY_SAW: &str = "the service stopped during the attempt, and its result is unknown";

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStanding {
    /// It is delivered or abandoned.
    Over,
    /// Nothing is to be done before then: it is not due, or an attempt is under way.
    Waits(Timestamp),
    /// An attempt is to be made.
    Due,
}

/// How an attempt ended.
#[derive(Debug, Clone)]
pub struct End {
    /// What decides on the next one.
    pub outcome: AttemptOutcome,
    /// When it began: after it was noted.
    pub started_at: Timestamp,
    /// How long it took.
    pub duration_ms: i64,
    /// What went wrong, for people.
    pub error: Option<String>,
}

impl End {
    /// When it ended.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.started_at.plus_ms(self.duration_ms)
    }
}

impl Attempt {
    /// True if nothing is known of its end.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.duration_ms.is_none() && self.error.is_none()
    }
}

impl Delivery {
    /// How it stands.
    #[must_use]
    pub fn standing(&self, now: Timestamp) -> DeliveryStanding {
        let open = self.attempts.last().filter(|attempt| attempt.is_open());
        let until = match open {
            _ if self.status.is_terminal() => return DeliveryStanding::Over,
            Some(attempt) => Some(attempt.started_at.plus_ms(UNDER_WAY_MS)),
            None => self.next_attempt_at,
        };
        match until {
            Some(until) if until > now => DeliveryStanding::Waits(until),
            _ => DeliveryStanding::Due,
        }
    }

    /// The same, where an attempt of which nobody saw the end has failed by now: its receiver had
    /// its time. None if there is no such attempt.
    #[must_use]
    pub fn given_up(&self, now: Timestamp, schedule: &Schedule, random: u64) -> Option<Delivery> {
        let attempt = self.attempts.last().filter(|attempt| attempt.is_open())?;
        if self.standing(now) != DeliveryStanding::Due {
            return None;
        }
        let at = attempt.started_at.plus_ms(BEGIN_MS + ANSWER_LIMIT_MS);
        let next = schedule.after(attempt.number, AttemptOutcome::Unanswered, at, random);
        let mut given_up = self.clone();
        if let Some(attempt) = given_up.attempts.last_mut() {
            attempt.error = Some(NOBODY_SAW.to_owned());
        }
        Some(given_up.then(next))
    }

    /// The same with a new attempt under way.
    #[must_use]
    pub fn begun(mut self, id: AttemptId, now: Timestamp) -> Delivery {
        let number = self.attempts.last().map_or(0, |last| last.number) + 1;
        self.attempts.push(Attempt {
            id,
            number,
            started_at: now,
            duration_ms: None,
            status_code: None,
            error: None,
        });
        self.next_attempt_at = None;
        self.due_at = Some(now.plus_ms(UNDER_WAY_MS).epoch_ms());
        self
    }

    /// The same without its last attempt, which was noted and not made: it was due then.
    #[must_use]
    pub fn taken_back(mut self) -> Delivery {
        let not_made = self.attempts.pop();
        match not_made {
            Some(attempt) => self.then(Next::Retry(attempt.started_at)),
            None => self,
        }
    }

    /// The same after its last attempt, and what follows.
    #[must_use]
    pub fn ended(mut self, end: &End, schedule: &Schedule, random: u64) -> (Delivery, Next) {
        let number = self.attempts.last().map_or(0, |last| last.number);
        let next = schedule.after(number, end.outcome, end.at(), random);
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.started_at = end.started_at;
            attempt.duration_ms = Some(end.duration_ms);
            attempt.status_code = match end.outcome {
                AttemptOutcome::Answered(status) => Some(status),
                AttemptOutcome::Unanswered => None,
            };
            attempt.error.clone_from(&end.error);
        }
        (self.then(next), next)
    }

    /// The same, not to be tried any more.
    #[must_use]
    pub fn abandoned(mut self, reason: &str) -> Delivery {
        self.abandoned_reason = Some(reason.to_owned());
        self.then(Next::Abandoned)
    }

    fn then(mut self, next: Next) -> Delivery {
        self.status = next.status();
        self.next_attempt_at = match next {
            Next::Retry(at) => Some(at),
            Next::Delivered | Next::Abandoned | Next::Gone => None,
        };
        let due = self.next_attempt_at.map(|at| at.plus_ms(NOTIFICATION_MS));
        self.due_at = due.map(Timestamp::epoch_ms);
        if self.status != DeliveryStatus::Pending {
            self.due_shard = None;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhooks::deliveries::Notice;
    use awo_domain::webhook::EventType;
    use awo_domain::webhook::schedule::MAX_ATTEMPTS;
    use awo_domain::{DeliveryId, EventId, OrgId, WebhookId};

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_epoch_ms(ms)
    }

    fn new() -> Delivery {
        let notice = Notice {
            event_id: EventId::new(at(0), 1),
            event_type: EventType::RunCreated,
            run_id: None,
            body: "{}".to_owned(),
        };
        let (org, webhook) = (OrgId::new(at(0), 1), WebhookId::new(at(0), 1));
        Delivery::new(DeliveryId::new(at(0), 1), &org, &webhook, notice, at(0))
    }

    fn attempt(of: Delivery, now: Timestamp) -> Delivery {
        of.begun(AttemptId::new(now, 1), now)
    }

    #[test]
    fn an_attempt_that_nobody_ended_has_failed_when_its_time_is_over_and_is_never_made_up_for() {
        let mut delivery = new();
        let mut now = at(1_000);
        for number in 1..=MAX_ATTEMPTS {
            assert_eq!(delivery.standing(now), DeliveryStanding::Due);
            delivery = attempt(delivery, now);
            let over = now.plus_ms(UNDER_WAY_MS);
            assert_eq!(delivery.standing(now), DeliveryStanding::Waits(over));
            assert_eq!(delivery.given_up(now, &Schedule::default(), 0), None);
            let ended_at = now.plus_ms(ANSWER_LIMIT_MS);
            delivery = delivery
                .given_up(over, &Schedule::default(), 0)
                .expect("its time is over");
            assert!(!delivery.attempts[number as usize - 1].is_open());
            match delivery.next_attempt_at {
                Some(next) => {
                    assert!(next >= ended_at.plus_ms(60_000));
                    now = next;
                }
                None => assert_eq!(number, MAX_ATTEMPTS),
            }
        }
        assert_eq!(delivery.standing(now), DeliveryStanding::Over);
        assert_eq!(delivery.status, DeliveryStatus::Abandoned);
        assert_eq!(delivery.attempts.len(), 5);
        assert_eq!((delivery.due_at, delivery.due_shard), (None, None));
    }

    #[test]
    fn an_attempt_that_was_noted_and_not_made_is_taken_back_and_not_counted() {
        let back = attempt(new(), at(5)).taken_back();
        assert_eq!(
            back,
            Delivery {
                next_attempt_at: Some(at(5)),
                due_at: back.due_at,
                ..new()
            }
        );
        assert_eq!(back.standing(at(5)), DeliveryStanding::Due);
        let again = attempt(back, at(10));
        assert_eq!((again.attempts.len(), again.attempts[0].number), (1, 1));
    }

    #[test]
    fn a_delivery_waits_for_its_time_and_is_over_with_its_success() {
        let (delivery, next) = attempt(new(), at(0)).ended(
            &End {
                outcome: AttemptOutcome::Answered(503),
                started_at: at(0),
                duration_ms: 2_000,
                error: Some("503".to_owned()),
            },
            &Schedule::default(),
            0,
        );
        assert_eq!(next, Next::Retry(at(62_000)));
        assert_eq!(
            delivery.standing(at(61_999)),
            DeliveryStanding::Waits(at(62_000))
        );
        assert_eq!(delivery.standing(at(62_000)), DeliveryStanding::Due);
        let (delivery, next) = attempt(delivery, at(62_000)).ended(
            &End {
                outcome: AttemptOutcome::Answered(204),
                started_at: at(62_000),
                duration_ms: 1,
                error: None,
            },
            &Schedule::default(),
            0,
        );
        assert_eq!(next, Next::Delivered);
        assert_eq!(delivery.standing(at(70_000)), DeliveryStanding::Over);
        assert_eq!(delivery.attempts.len(), 2);
    }
}
