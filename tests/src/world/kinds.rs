//! Lenient worlds, and worlds as strict as the cloud.

use std::time::Duration;

use awo_local::index_lag::Staleness;
use awo_local::locks::Locks;

use super::World;

/// How late indexes are in an unkind world, and how many writes meet one rival.
const LONGEST_LAG: Duration = Duration::from_secs(5);
const RIVAL_EVERY: u32 = 13;

impl World {
    /// A new world. Its tasks are programs that wait to be stopped.
    pub async fn new() -> World {
        World::with(&[]).await
    }

    /// A new world in which so many tasks may live at once.
    pub async fn with_tasks(max: u32) -> World {
        World::with(&[("AWO_MAX_TASKS", max.to_string())]).await
    }

    /// A new world, with these settings over its own.
    pub async fn with(own: &[(&'static str, String)]) -> World {
        World::made(own, Locks::default(), None).await
    }

    /// A new world that is as unkind as the cloud on a bad day: indexes lag by up to some seconds of its
    /// clock, and every few writes meet a rival.
    pub async fn unkind(own: &[(&'static str, String)]) -> World {
        let lag = Staleness::UpTo(LONGEST_LAG);
        World::made(own, Locks::with_rivals(RIVAL_EVERY), Some(lag)).await
    }

    /// A new world whose indexes lag by just so much of its clock, until a test sets another lag
    /// ([`World::index_lag`]).
    pub async fn stale(own: &[(&'static str, String)], lag: Duration) -> World {
        World::made(own, Locks::default(), Some(Staleness::Of(lag))).await
    }

    /// A new world whose database locks the items of a transaction for so long, as the cloud's does.
    pub async fn with_locks(own: &[(&'static str, String)], hold: Duration) -> World {
        World::made(own, Locks::held_for(hold), None).await
    }
}
