//! Limits of the calls of an attempt: those at once, and those that begin in a minute. An agent's flood is refused here, so that no
//! provider has to: that would look like an outage.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::refusal::Refusal;

/// Most calls at once; others wait.
const MAX_CALLS: usize = 8;
/// Longest time that they wait.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Most calls that cost something, within a minute.
const CALLS_PER_MINUTE: usize = 120;
const MINUTE: Duration = Duration::from_secs(60);
/// Seconds after which a refused call may come again.
const RETRY_AFTER: u16 = 1;

/// Counts calls under way, and those that have begun.
#[derive(Debug)]
pub(super) struct Pace {
    calls: Arc<Semaphore>,
    begun: Mutex<VecDeque<Instant>>,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            calls: Arc::new(Semaphore::new(MAX_CALLS)),
            begun: Mutex::new(VecDeque::new()),
        }
    }
}

impl Pace {
    /// Waits for a call's turn.
    ///
    /// # Errors
    /// A refusal, if too many go on for too long.
    pub(super) async fn turn(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        self.turn_within(PATIENCE).await
    }

    async fn turn_within(&self, patience: Duration) -> Result<OwnedSemaphorePermit, Refusal> {
        let permit = timeout(patience, Arc::clone(&self.calls).acquire_owned()).await;
        permit.ok().and_then(Result::ok).ok_or_else(|| {
            later(&format!(
                "{MAX_CALLS} calls of this run are under way, and none has ended for {} s",
                patience.as_secs()
            ))
        })
    }

    /// Counts a call that costs something.
    ///
    /// # Errors
    /// A refusal, if too many have begun.
    pub(super) fn begin(&self, now: Instant) -> Result<(), Refusal> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        while begun
            .front()
            .is_some_and(|first| now.saturating_duration_since(*first) >= MINUTE)
        {
            begun.pop_front();
        }
        if begun.len() >= CALLS_PER_MINUTE {
            return Err(later(&format!(
                "{CALLS_PER_MINUTE} calls of this run have begun within a minute"
            )));
        }
        begun.push_back(now);
        Ok(())
    }
}

/// A refusal of now.
pub(super) fn later(why: &str) -> Refusal {
    Refusal::for_now(RETRY_AFTER, format!("{why}: call again later"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_beyond_120_a_minute_are_refused_until_the_first_is_a_minute_old() {
        let pace = Pace::default();
        let start = Instant::now();
        for second in 0..120 {
            let moment = start + Duration::from_millis(250 * second);
            assert!(pace.begin(moment).is_ok(), "{second}");
        }
        let refusal = pace.begin(start + Duration::from_secs(59)).unwrap_err();
        assert_eq!(refusal.status.as_u16(), 429);
        assert!(pace.begin(start + MINUTE).is_ok());
        assert!(pace.begin(start + MINUTE).is_err());
    }

    #[tokio::test]
    async fn the_ninth_call_waits_and_is_refused_for_now() {
        let pace = Pace::default();
        let mut permits = Vec::new();
        for _ in 0..MAX_CALLS {
            permits.push(pace.turn().await.unwrap());
        }
        let patience = Duration::from_millis(20);
        let began = Instant::now();
        let refusal = pace.turn_within(patience).await.unwrap_err();
        assert!(began.elapsed() >= patience);
        assert_eq!(refusal.status.as_u16(), 429);
        let answer = refusal.answer(awo_domain::control::Provider::Openai);
        assert_eq!(answer.headers()["retry-after"], "1");
        permits.pop();
        assert!(pace.turn().await.is_ok());
    }
}
