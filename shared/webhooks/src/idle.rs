//! Idle connections: a burst of deliveries to one receiver shares the cost of a handshake, which is
//! most of a delivery's.
//!
//! Only the organization that a connection was made for uses it again, for the same host and port,
//! and for so short a time that the check of its address still holds.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use awo_domain::{OrgId, Timestamp};

use crate::connection::Connection;
use crate::target::Host;

/// Longest time without use, in milliseconds: servers close what is idle after some seconds, and
/// what is written just then is lost.
const IDLE_MS: i64 = 1_000;
/// Longest time of use, in milliseconds: so long an answer of a name server may be connection, too.
const USE_MS: i64 = 60_000;
/// Connections that wait, for one receiver and for all.
const PER_RECEIVER: usize = 10;
const ALL: usize = 100;

/// Whose deliveries may share a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receiver {
    pub org: OrgId,
    pub host: Host,
    pub port: u16,
}

/// A connection, and when it was made.
pub struct IdleConnection {
    pub connection: Connection,
    pub made_at: Timestamp,
}

/// The times are of the wall clock: it alone goes on while a function sleeps between two calls.
#[derive(Default)]
pub struct Idle(Mutex<HashMap<Receiver, Vec<(IdleConnection, Timestamp)>>>);

impl Idle {
    /// A connection to this receiver that is fresh enough. Those to whomever that are not are closed:
    /// a receiver's data on them is discarded.
    pub fn take(&self, receiver: &Receiver, now: Timestamp) -> Option<IdleConnection> {
        let mut all = self.lock();
        all.retain(|_, waiting| {
            waiting.retain(|(connection, since)| is_fresh(connection, *since, now));
            !waiting.is_empty()
        });
        let (connection, _) = all.get_mut(receiver)?.pop()?;
        Some(connection)
    }

    /// Keeps a connection, if there is room.
    pub fn put(&self, receiver: Receiver, connection: IdleConnection, now: Timestamp) {
        let mut all = self.lock();
        if all.values().map(Vec::len).sum::<usize>() >= ALL {
            return;
        }
        let waiting = all.entry(receiver).or_default();
        if waiting.len() < PER_RECEIVER {
            waiting.push((connection, now));
        }
    }

    /// Nothing that is done under the lock can leave the map half changed.
    fn lock(&self) -> MutexGuard<'_, HashMap<Receiver, Vec<(IdleConnection, Timestamp)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A clock that was set back makes nothing fresh.
fn is_fresh(connection: &IdleConnection, since: Timestamp, now: Timestamp) -> bool {
    now >= since && now.ms_since(since) <= IDLE_MS && now.ms_since(connection.made_at) <= USE_MS
}
