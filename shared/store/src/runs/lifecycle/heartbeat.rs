//! Heartbeats, and the fact that decides whether a run is paid: a process of client code has started.
//! The first report after that start records it on the lease, so that it outlives the runner.

use awo_domain::control::ReportAnswer;
use awo_domain::{Error, Timestamp};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::key::Key;
use crate::engine::table::{UpdateOutcome, read};
use crate::runs::Run;
use crate::runs::lifecycle::lease::{Lease, SILENCE_MS, held, lease_lost};
use crate::runs::lifecycle::report::Reporter;

impl Change {
    /// Records on a lease that client code has started, if it has; the first time counts.
    pub(crate) fn executed(self, executed: bool, now: Timestamp) -> Change {
        if executed {
            self.set_if_missing("executedAt", now)
        } else {
            self
        }
    }
}

impl Run {
    /// True if a process of client code has started, as far as is known: then its compute is paid.
    #[must_use]
    pub fn has_executed(&self, lease: Option<&Lease>) -> bool {
        let now = lease.is_some_and(|lease| lease.executed_at.is_some());
        now || self.suspension.is_some() || !self.usage.is_empty()
    }
}

impl Store {
    /// Records that the runner is alive, and whether client code has started. Once there is a stop
    /// request, its deadline counts, and the runner is answered with it.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the lease is lost, or internal.
    pub async fn heartbeat(
        &self,
        by: &Reporter,
        executed: bool,
        now: Timestamp,
    ) -> Result<ReportAnswer, Error> {
        let change = held(&by.token_hash)
            .set("dueAt", now.plus_ms(SILENCE_MS).epoch_ms())
            .set("heardAt", now)
            .executed(executed, now)
            .remove("suspectedAt")
            .when_missing("stopRequest");
        let key = Key::lease(&by.org, &by.run_id);
        let lease: Lease = match self.update(&key, change).await? {
            UpdateOutcome::New(item) => read(item)?,
            UpdateOutcome::Refused(Some(item)) => read(item)?,
            UpdateOutcome::Refused(None) => return Err(lease_lost()),
        };
        let is_open = lease.closed_at.is_none() || lease.stop_request.is_some();
        if !(lease.is_held_by(&by.token_hash) && is_open) {
            return Err(lease_lost());
        }
        if executed {
            // A stop request refuses the heartbeat, and not what is paid.
            self.note_executed(&lease, now).await?;
        }
        Ok(lease.answer())
    }

    /// Records on a lease that client code has started. Nothing changes if that is recorded, or if the
    /// lease is gone or another runner's by now.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn note_executed(&self, lease: &Lease, now: Timestamp) -> Result<(), Error> {
        if lease.executed_at.is_some() {
            return Ok(());
        }
        let change = Change::new()
            .executed(true, now)
            .when_present("runId")
            .when_option("tokenHash", lease.token_hash.as_ref());
        let key = Key::lease(&lease.org_id, &lease.run_id);
        let (UpdateOutcome::New(_) | UpdateOutcome::Refused(_)) = self.update(&key, change).await?;
        Ok(())
    }
}
