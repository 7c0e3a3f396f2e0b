//! Turns at an organization's tally, for concurrent writers. DynamoDB refuses a transaction that
//! conflicts with another one on an item; with many writers, random retries can fail again and
//! again. So a transaction that was refused more than once takes a turn: a time on an item that no
//! transaction touches (`<org>` / `turns`), where each taker postpones the next turn by about the
//! duration of a transaction. If the turn is too far away, the caller has to retry later, and
//! nothing was written.
//!
//! Turns only schedule retries. The conditions of the transactions protect the tally.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use awo_domain::Error;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::Item;
use crate::engine::key::Key;
use crate::engine::table::{UpdateOutcome, conflict_pause};

/// How often a transaction is tried by luck before it takes a turn.
const BY_LUCK: u32 = 1;
/// The longest wait in all.
const LONGEST: Duration = Duration::from_secs(5);
/// How long after a conflict a process takes a turn before it tries at all.
const REMEMBERED: Duration = Duration::from_secs(1);
/// What a turn is for: a transaction as long as the last ones of this process, within these.
const SHORTEST_TURN_MS: u64 = 8;
const LONGEST_TURN_MS: u64 = 60;
const FIRST_TURN_MS: u64 = 20;
/// How often the item of turns is tried to be changed.
const TRIES: u32 = 8;
/// Most tallies that are remembered.
const MOST_KNOWN: usize = 10_000;
const FREE_AT: &str = "freeAt";

/// What a process has seen of rivals. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Turns(Arc<Rivalry>);

#[derive(Debug)]
struct Rivalry {
    turn_ms: AtomicU64,
    conflicts: Mutex<HashMap<String, Instant>>,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns(Arc::new(Rivalry {
            turn_ms: AtomicU64::new(FIRST_TURN_MS),
            conflicts: Mutex::default(),
        }))
    }
}

impl Turns {
    fn conflicts(&self) -> std::sync::MutexGuard<'_, HashMap<String, Instant>> {
        let conflicts = self.0.conflicts.lock();
        conflicts.unwrap_or_else(PoisonError::into_inner)
    }

    fn note_conflict(&self, tally: &Key) {
        let mut conflicts = self.conflicts();
        if conflicts.len() >= MOST_KNOWN {
            conflicts.clear();
        }
        conflicts.insert(tally.pk.clone(), Instant::now());
    }

    fn is_crowded(&self, tally: &Key) -> bool {
        let conflicts = self.conflicts();
        let last = conflicts.get(&tally.pk);
        last.is_some_and(|last| last.elapsed() < REMEMBERED)
    }

    fn turn_ms(&self) -> i64 {
        let turn = self.0.turn_ms.load(Ordering::Relaxed);
        i64::try_from(turn.clamp(SHORTEST_TURN_MS, LONGEST_TURN_MS)).unwrap_or(i64::MAX)
    }

    /// A transaction took so long.
    pub fn note_commit(&self, took: Duration) {
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let took = took.min(LONGEST_TURN_MS);
        let of = &self.0.turn_ms;
        // Two at once may lose one of them: it is a mean of many.
        let mean = (of.load(Ordering::Relaxed) * 3 + took).div_ceil(4);
        of.store(mean, Ordering::Relaxed);
    }
}

/// A transaction's wait for the tally that it changes, if it changes one.
pub(crate) struct Wait {
    tally: Option<Key>,
    began: Instant,
    refused: u32,
}

impl Wait {
    pub fn new(tally: Option<Key>) -> Wait {
        Wait {
            tally,
            began: Instant::now(),
            refused: 0,
        }
    }

    /// Waits before the first try, where rivals were met a moment ago.
    pub async fn before(&self, store: &Store) -> Result<(), Error> {
        match &self.tally {
            Some(tally) if store.turns.is_crowded(tally) => self.for_a_turn(store, tally).await,
            _ => Ok(()),
        }
    }

    /// Waits after a try that met rivals.
    ///
    /// # Errors
    /// [`Error::Contended`] when it has waited for long enough, or internal.
    pub async fn after_conflict(&mut self, store: &Store) -> Result<(), Error> {
        self.refused += 1;
        if self.began.elapsed() > LONGEST {
            return Err(too_long());
        }
        if let Some(tally) = &self.tally {
            store.turns.note_conflict(tally);
            if self.refused > BY_LUCK {
                return self.for_a_turn(store, tally).await;
            }
        }
        conflict_pause(self.refused).await;
        Ok(())
    }

    async fn for_a_turn(&self, store: &Store, tally: &Key) -> Result<(), Error> {
        let left = LONGEST.saturating_sub(self.began.elapsed());
        let Some(wait) = store.take_turn(&Key::turns(tally), left).await? else {
            return Err(too_long());
        };
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

fn too_long() -> Error {
    Error::contended("the tally stayed in conflict with other transactions")
}

impl Store {
    /// Takes the next turn that begins within this time; answers how long until it begins.
    async fn take_turn(&self, turns: &Key, within: Duration) -> Result<Option<Duration>, Error> {
        let turn = self.turns.turn_ms();
        let within = i64::try_from(within.as_millis()).unwrap_or(i64::MAX);
        for _ in 0..TRIES {
            let now = now_ms();
            let behind = Change::new()
                .add(FREE_AT, turn)
                .compare(FREE_AT, ">", now)
                .compare(FREE_AT, "<=", now + within);
            let found = match self.update(turns, behind).await? {
                UpdateOutcome::New(item) => {
                    let begins = free_at(&item).unwrap_or(now) - turn;
                    return Ok(Some(until(begins)));
                }
                UpdateOutcome::Refused(item) => item.as_ref().and_then(free_at),
            };
            if found.is_some_and(|free_at| free_at > now + within) {
                return Ok(None);
            }
            let first = Change::new()
                .set(FREE_AT, now + turn)
                .at_most_or_missing(FREE_AT, now);
            if let UpdateOutcome::New(_) = self.update(turns, first).await? {
                return Ok(Some(Duration::ZERO));
            }
        }
        Ok(None)
    }
}

fn free_at(item: &Item) -> Option<i64> {
    item.get(FREE_AT)?.as_n().ok()?.parse().ok()
}

fn until(at_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(at_ms - now_ms()).unwrap_or(0))
}

/// The machine's own time: a turn is milliseconds from now, whatever day it is.
fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX))
}
