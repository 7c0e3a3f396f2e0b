//! Attempts of deliveries. An attempt is noted before it is made, so that whoever dies on the way
//! has used it up, and nobody makes a sixth; its end is noted over exactly what its beginning was.
//! One without an end is under way for [`UNDER_WAY_MS`] at most, and has failed then.

use awo_domain::webhook::DeliveryStatus;
use awo_domain::webhook::schedule::{ANSWER_LIMIT_MS, Next, Outcome, Schedule};
use awo_domain::webhook::target::WebhookUrl;
use awo_domain::{AttemptId, Error, Timestamp};

use crate::Store;
use crate::change::Change;
use crate::deliveries::{Attempt, Delivery};
use crate::errands::DeliveryRef;
use crate::item::{Item, Key};
use crate::outbox::ERRAND_MS;
use crate::table::{Updated, read};
use crate::transaction::{Committed, Guard, Transaction};

/// How long others leave an attempt alone: what a receiver has, and time to note the end.
pub const UNDER_WAY_MS: i64 = ANSWER_LIMIT_MS + 15_000;
const NOBODY_SAW: &str = "the service broke off, and nobody saw how it ended";
const GONE: &str = "its receiver answered 410 (Gone)";

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
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
    pub outcome: Outcome,
    /// When it ended.
    pub at: Timestamp,
    /// How long it took.
    pub duration_ms: i64,
    /// What went wrong, for people.
    pub error: Option<String>,
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
    pub fn standing(&self, now: Timestamp) -> Standing {
        let open = self.attempts.last().filter(|attempt| attempt.is_open());
        let until = match open {
            _ if self.status.is_terminal() => return Standing::Over,
            Some(attempt) => Some(attempt.started_at.plus_ms(UNDER_WAY_MS)),
            None => self.next_attempt_at,
        };
        match until {
            Some(until) if until > now => Standing::Waits(until),
            _ => Standing::Due,
        }
    }

    /// The same, where an attempt of which nobody saw the end has failed by now: its receiver had
    /// its time. None if there is no such attempt.
    #[must_use]
    pub fn given_up(&self, now: Timestamp, schedule: &Schedule, random: u64) -> Option<Delivery> {
        let attempt = self.attempts.last().filter(|attempt| attempt.is_open())?;
        if self.standing(now) != Standing::Due {
            return None;
        }
        let at = attempt.started_at.plus_ms(ANSWER_LIMIT_MS);
        let next = schedule.after(attempt.number, Outcome::Unanswered, at, random);
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

    /// The same after its last attempt, and what follows.
    #[must_use]
    pub fn ended(mut self, end: &End, schedule: &Schedule, random: u64) -> (Delivery, Next) {
        let number = self.attempts.last().map_or(0, |last| last.number);
        let next = schedule.after(number, end.outcome, end.at, random);
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.duration_ms = Some(end.duration_ms);
            attempt.status_code = match end.outcome {
                Outcome::Answered(status) => Some(status),
                Outcome::Unanswered => None,
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
        let due = self.next_attempt_at.map(|at| at.plus_ms(ERRAND_MS));
        self.due_at = due.map(Timestamp::epoch_ms);
        if self.status != DeliveryStatus::Pending {
            self.due_shard = None;
        }
        self
    }
}

impl Store {
    /// Writes what was made of a delivery over just that. None if it is not so any more: then
    /// nothing was written.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn change_delivery(&self, new: Delivery) -> Result<Option<Delivery>, Error> {
        let key = Key::delivery(&new.org_id, &new.webhook_id, &new.id);
        let change = changed(&new);
        let updated = self.update(&self.tables.deliveries, &key, change).await?;
        written(new, updated)
    }

    /// As [`Store::change_delivery`], of one whose receiver is gone: its webhook is disabled in
    /// the same transaction, unless its owner has meanwhile disabled, moved or deleted it.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn end_gone(
        &self,
        new: Delivery,
        url: &WebhookUrl,
        now: Timestamp,
    ) -> Result<Option<Delivery>, Error> {
        let (org, webhook) = (&new.org_id, &new.webhook_id);
        let disabled = Change::new()
            .set("enabled", false)
            .set("disabledAt", now)
            .set("disabledReason", GONE)
            .add("revision", 1)
            .when("enabled", true)
            .when("url", url);
        let (tables, key) = (&self.tables, Key::delivery(org, webhook, &new.id));
        let committed = Transaction::new()
            .update(Guard::Delivery, &tables.deliveries, &key, changed(&new))?
            .update(
                Guard::Webhook,
                &tables.settings,
                &Key::webhook(org, webhook),
                disabled,
            )?
            .commit(self)
            .await?;
        match committed {
            Committed::Yes => Ok(Some(next_revision(new))),
            Committed::No(_) => self.change_delivery(new).await,
        }
    }

    /// Lets the sweep look at an overdue delivery again later, if nothing has become of it since.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn look_at_delivery_again(
        &self,
        at: &DeliveryRef,
        was_due_at: i64,
        again_at: Timestamp,
    ) -> Result<(), Error> {
        let key = Key::delivery(&at.org_id, &at.webhook_id, &at.id);
        let later = Change::new()
            .set("dueAt", again_at.epoch_ms())
            .when("status", DeliveryStatus::Pending)
            .when("dueAt", was_due_at);
        self.update(&self.tables.deliveries, &key, later).await?;
        Ok(())
    }
}

fn changed(new: &Delivery) -> Change {
    let change = Change::new()
        .set("status", new.status)
        .set("attempts", &new.attempts)
        .set_some("abandonedReason", new.abandoned_reason.as_ref())
        .set("revision", new.revision + 1)
        .when("revision", new.revision);
    let change = match new.next_attempt_at {
        Some(at) => change.set("nextAttemptAt", at),
        None => change.remove("nextAttemptAt"),
    };
    match new.due_at {
        Some(at) => change.set("dueAt", at),
        None => change.remove("dueAt").remove("dueShard"),
    }
}

fn next_revision(mut new: Delivery) -> Delivery {
    new.revision += 1;
    new
}

/// What was written. A write whose reply was lost is refused when the SDK tries it again: then it
/// is there, with the attempt's own id.
fn written(new: Delivery, updated: Updated) -> Result<Option<Delivery>, Error> {
    let as_wanted = next_revision(new);
    match updated {
        Updated::New(_) => Ok(Some(as_wanted)),
        Updated::Refused(None) => Ok(None),
        Updated::Refused(Some(item)) => is_as_wanted(item, as_wanted),
    }
}

fn is_as_wanted(item: Item, wanted: Delivery) -> Result<Option<Delivery>, Error> {
    let found: Delivery = read(item)?;
    let is_same = found.revision == wanted.revision
        && found.status == wanted.status
        && found.attempts == wanted.attempts;
    Ok(is_same.then_some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliveries::Notice;
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
            assert_eq!(delivery.standing(now), Standing::Due);
            delivery = attempt(delivery, now);
            let over = now.plus_ms(UNDER_WAY_MS);
            assert_eq!(delivery.standing(now), Standing::Waits(over));
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
        assert_eq!(delivery.standing(now), Standing::Over);
        assert_eq!(delivery.status, DeliveryStatus::Abandoned);
        assert_eq!(delivery.attempts.len(), 5);
        assert_eq!((delivery.due_at, delivery.due_shard), (None, None));
    }

    #[test]
    fn a_delivery_waits_for_its_time_and_is_over_with_its_success() {
        let (delivery, next) = attempt(new(), at(0)).ended(
            &End {
                outcome: Outcome::Answered(503),
                at: at(2_000),
                duration_ms: 2_000,
                error: Some("503".to_owned()),
            },
            &Schedule::default(),
            0,
        );
        assert_eq!(next, Next::Retry(at(62_000)));
        assert_eq!(delivery.standing(at(61_999)), Standing::Waits(at(62_000)));
        assert_eq!(delivery.standing(at(62_000)), Standing::Due);
        let (delivery, next) = attempt(delivery, at(62_000)).ended(
            &End {
                outcome: Outcome::Answered(204),
                at: at(62_001),
                duration_ms: 1,
                error: None,
            },
            &Schedule::default(),
            0,
        );
        assert_eq!(next, Next::Delivered);
        assert_eq!(delivery.standing(at(70_000)), Standing::Over);
        assert_eq!(delivery.attempts.len(), 2);
    }
}
