//! The retries of a delivery and its end: five attempts at most, none before its time, each counted
//! from the end of the previous one.

use super::DeliveryStatus;
use crate::Timestamp;

/// Attempts of a delivery, at most. The first is made at once.
pub const MAX_ATTEMPTS: u32 = 5;
/// How long a receiver has for its status and headers, in milliseconds.
pub const ANSWER_LIMIT_MS: i64 = 30_000;

const RETRIES: usize = 4;
const MINUTE_MS: i64 = 60_000;
/// Longest delay that can be set: the visibility timeout of SQS is 12 h at most.
const MAX_DELAY_MS: i64 = 12 * 60 * MINUTE_MS;
/// The jitter is up to one part in so many of the delay.
const JITTER_PART: u128 = 10;

const _: () = assert!(RETRIES + 1 == MAX_ATTEMPTS as usize);

/// What an attempt came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver answered with this status, in time.
    Answered(u16),
    /// It did not: no address, none that may be connected to, refused, reset, a TLS fault, late.
    Unanswered,
}

/// What follows from an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The receiver has it.
    Delivered,
    /// It is tried again, not before then.
    Retry(Timestamp),
    /// It failed for the last time.
    Abandoned,
    /// The receiver is gone (410): the delivery is abandoned, and the webhook is disabled.
    Gone,
}

impl Next {
    /// The status of the delivery from now on.
    #[must_use]
    pub fn status(self) -> DeliveryStatus {
        match self {
            Next::Delivered => DeliveryStatus::Delivered,
            Next::Retry(_) => DeliveryStatus::Pending,
            Next::Abandoned | Next::Gone => DeliveryStatus::Abandoned,
        }
    }
}

/// The delays between attempts, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySchedule {
    delays_ms: [i64; RETRIES],
}

impl Default for RetrySchedule {
    /// The contract's: 1 min, 5 min, 30 min, 2 h.
    fn default() -> RetrySchedule {
        RetrySchedule {
            delays_ms: [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS],
        }
    }
}

impl RetrySchedule {
    /// Reads delays for tests: four numbers of milliseconds, with commas between.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str) -> Result<RetrySchedule, String> {
        let refused = || {
            format!(
                "must be {RETRIES} numbers of milliseconds, 0 to {MAX_DELAY_MS}, with commas between"
            )
        };
        let delays: Result<Vec<i64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
        let delays = delays.map_err(|_| refused())?;
        let delays_ms: [i64; RETRIES] = delays.try_into().map_err(|_| refused())?;
        if delays_ms.iter().all(|ms| (0..=MAX_DELAY_MS).contains(ms)) {
            Ok(RetrySchedule { delays_ms })
        } else {
            Err(refused())
        }
    }

    /// What follows from the attempt with this number, from 1, that ended then. `random` is the
    /// caller's randomness; it adds a jitter of 0–10 % to the delay.
    #[must_use]
    pub fn after(
        &self,
        attempt: u32,
        outcome: AttemptOutcome,
        ended_at: Timestamp,
        random: u64,
    ) -> Next {
        match outcome {
            AttemptOutcome::Answered(200..=299) => Next::Delivered,
            AttemptOutcome::Answered(410) => Next::Gone,
            AttemptOutcome::Answered(_) | AttemptOutcome::Unanswered => {
                match self.delay_ms(attempt) {
                    Some(delay_ms) => {
                        Next::Retry(ended_at.plus_ms(delay_ms + jitter_ms(delay_ms, random)))
                    }
                    None => Next::Abandoned,
                }
            }
        }
    }

    /// From the end of this attempt to the next; none after the last.
    fn delay_ms(&self, attempt: u32) -> Option<i64> {
        let index = usize::try_from(attempt.checked_sub(1)?).ok()?;
        self.delays_ms.get(index).copied()
    }
}

/// From 0 up to, and never quite, a tenth of the delay.
fn jitter_ms(delay_ms: i64, random: u64) -> i64 {
    let delay = u128::from(delay_ms.unsigned_abs());
    let jitter = (delay * u128::from(random) / JITTER_PART) >> u64::BITS;
    i64::try_from(jitter).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DELAYS: [i64; 4] = [60_000, 300_000, 1_800_000, 7_200_000];

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_epoch_ms(ms)
    }

    #[test]
    fn a_receiver_that_always_fails_gets_five_attempts_at_the_contracts_times() {
        let schedule = RetrySchedule::default();
        let mut now = at(0);
        let mut times = vec![now.epoch_ms()];
        for attempt in 1..=MAX_ATTEMPTS {
            match schedule.after(attempt, AttemptOutcome::Answered(500), now, 0) {
                Next::Retry(next) => {
                    times.push(next.epoch_ms());
                    now = next;
                }
                next => assert_eq!((attempt, next), (MAX_ATTEMPTS, Next::Abandoned)),
            }
        }
        assert_eq!(times, [0, 60_000, 360_000, 2_160_000, 9_360_000]);
    }

    #[test]
    fn a_number_that_no_attempt_has_leads_to_no_other() {
        for attempt in [0, MAX_ATTEMPTS, MAX_ATTEMPTS + 1, u32::MAX] {
            let next =
                RetrySchedule::default().after(attempt, AttemptOutcome::Unanswered, at(0), 0);
            assert_eq!(next, Next::Abandoned, "{attempt}");
        }
    }

    #[test]
    fn every_status_but_2xx_and_410_is_tried_again() {
        for attempt in 1..=MAX_ATTEMPTS {
            for status in 0..=u16::MAX {
                let outcome = AttemptOutcome::Answered(status);
                let next = RetrySchedule::default().after(attempt, outcome, at(0), 0);
                let expected = match status {
                    200..=299 => DeliveryStatus::Delivered,
                    410 => DeliveryStatus::Abandoned,
                    _ if attempt == MAX_ATTEMPTS => DeliveryStatus::Abandoned,
                    _ => DeliveryStatus::Pending,
                };
                assert_eq!(next.status(), expected, "{attempt} {status}");
                assert_eq!(next == Next::Gone, status == 410);
            }
        }
    }

    proptest! {
        #[test]
        fn no_attempt_is_early_or_more_than_a_tenth_late(
            attempt in 1_u32..=4, random in any::<u64>(), ended in 0_i64..4_000_000_000_000,
        ) {
            let ended_at = at(ended);
            let next = RetrySchedule::default().after(attempt, AttemptOutcome::Unanswered, ended_at, random);
            let Next::Retry(next) = next else { panic!("{next:?}") };
            let waited = next.ms_since(ended_at);
            let delay = DELAYS[attempt as usize - 1];
            prop_assert!(waited >= delay && waited * 10 <= delay * 11, "{}", waited);
        }

        #[test]
        fn delays_of_tests_are_read_as_they_are_written(delays in proptest::array::uniform4(0..=MAX_DELAY_MS)) {
            let text = delays.map(|ms| ms.to_string()).join(",");
            prop_assert_eq!(RetrySchedule::parse(&text), Ok(RetrySchedule { delays_ms: delays }));
        }
    }

    #[test]
    fn the_jitter_uses_its_whole_tenth() {
        let late =
            |random| RetrySchedule::default().after(4, AttemptOutcome::Unanswered, at(0), random);
        assert_eq!(late(0), Next::Retry(at(7_200_000)));
        assert_eq!(late(u64::MAX / 2 + 1), Next::Retry(at(7_560_000)));
        assert_eq!(late(u64::MAX), Next::Retry(at(7_919_999)));
    }

    #[test]
    fn delays_that_are_not_four_numbers_are_refused() {
        let contract = RetrySchedule::parse("60000,300000,1800000,7200000");
        assert_eq!(contract, Ok(RetrySchedule::default()));
        for bad in [
            "",
            "1",
            "1,2,3",
            "1,2,3,4,5",
            "1,2,3,-4",
            "1,2,3,x",
            "1,2,3,43200001",
            "1,,2,3",
        ] {
            assert!(RetrySchedule::parse(bad).is_err(), "{bad}");
        }
    }
}
