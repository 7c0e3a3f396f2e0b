//! Runners that stopped reporting while ECS reports their tasks as running. A minute of throttling,
//! errors or network loss stops the reports of healthy runners, often of many at once; so missing
//! reports end a run only after some time.

use awo_domain::{Error, Timestamp};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::key::Key;
use crate::runs::lifecycle::lease::Lease;

/// How long a runner may be suspected before its run ends.
const SUSPECTED_MS: i64 = 3 * 60_000;
/// When the sweep reads a suspected one again.
const NEXT_LOOK_MS: i64 = 60_000;

impl Lease {
    /// True if its runner, whose report is overdue, is to have more time: it has claimed its run, and has not
    /// been suspected for three minutes yet.
    #[must_use]
    pub fn may_be_silent(&self, now: Timestamp) -> bool {
        let suspected = self.suspected_at.map_or(0, |since| now.ms_since(since));
        self.token_hash.is_some() && suspected < SUSPECTED_MS
    }
}

impl Store {
    /// Suspects a runner without heartbeats, or continues to, and lets the sweep read it again a minute
    /// later. Its next report ends that. Nothing changes if it has reported since the lease was read.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn suspect(&self, lease: &Lease, now: Timestamp) -> Result<(), Error> {
        let change = Change::new()
            .set("suspectedAt", lease.suspected_at.unwrap_or(now))
            .set("dueAt", now.plus_ms(NEXT_LOOK_MS).epoch_ms())
            .when("dueAt", lease.due_at)
            .when_option("heardAt", lease.heard_at)
            .when_missing("stopRequest")
            .when_missing("closedAt");
        let key = Key::lease(&lease.org_id, &lease.run_id);
        self.update(&key, change).await?;
        Ok(())
    }
}
