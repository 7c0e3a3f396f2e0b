//! Messages that return later. They stay in the queue, invisible; if there are too many, or they
//! returned too often, they are deleted, and the sweep resends them in time.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use awo_domain::Timestamp;

use super::receiver::random;
use super::{Message, State, Verdict};

/// Shortest wait of who found a receiver busy; half as much again at most.
const BUSY_MS: i64 = 4_000;
/// Receives after which a message goes: far from the thousand at which it is a dead letter.
const MOST_RECEIVES: u32 = 200;
/// Waits up to this are for the queue in any case.
const SHORT_MS: i64 = 60_000;
/// Hidden messages of the queue beyond which long waits are for the sweep: half of what SQS takes.
const MOST_HIDDEN: u64 = 60_000;
/// How long a count of them is good.
const COUNT_IS_GOOD: Duration = Duration::from_secs(60);

/// How many messages were hidden when that was last asked.
#[derive(Debug, Default)]
pub(super) struct InFlightCount(Mutex<Option<(Instant, u64)>>);

/// Lets messages come back when they are wanted, and returns which stay.
pub(super) async fn settle(state: &State, settled: Vec<(Message, Verdict)>) -> Vec<String> {
    let (mut stay, mut hidden) = (Vec::new(), Vec::new());
    for (message, verdict) in settled {
        // Now, not when the handler began: the queue counts from now.
        let now = state.clock.now();
        let wait_ms = match verdict {
            Verdict::Done => continue,
            Verdict::Back => None,
            Verdict::Waits(until) => Some(until.ms_since(now)),
            Verdict::Soon => Some(BUSY_MS + jitter_ms(state, now)),
        };
        if let Some(wait_ms) = wait_ms {
            let is_long = wait_ms > SHORT_MS;
            if message.receives > MOST_RECEIVES || (is_long && are_many_hidden(state).await) {
                continue;
            }
            hidden.push((message.receipt_handle, wait_ms));
        }
        stay.push(message.id);
    }
    if let Err(error) = state.queue.extend_visibility(&hidden).await {
        let messages = hidden.len();
        tracing::warn!(
            event = "visibility_not_extended",
            messages,
            ?error,
            "the visibility of messages could not be extended; they come back"
        );
    }
    stay
}

fn jitter_ms(state: &State, now: Timestamp) -> i64 {
    i64::try_from(random(state, now) >> 33).unwrap_or(0) % (BUSY_MS / 2)
}

async fn are_many_hidden(state: &State) -> bool {
    let known = *state.hidden.lock();
    if let Some((_, count)) = known.filter(|(at, _)| at.elapsed() < COUNT_IS_GOOD) {
        return count > MOST_HIDDEN;
    }
    let count = match state.queue.in_flight().await {
        Ok(count) => count,
        Err(error) => {
            tracing::warn!(
                event = "visibility_not_counted",
                ?error,
                "messages in flight could not be counted"
            );
            return false;
        }
    };
    *state.hidden.lock() = Some((Instant::now(), count));
    count > MOST_HIDDEN
}

impl InFlightCount {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(Instant, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
