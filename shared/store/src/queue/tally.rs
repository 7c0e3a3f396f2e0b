//! The tally of an organization: taken slots, waiting entries, totals by status, and the tenants'
//! turn. One item, because the rules bind these numbers together: it is the hot item of the work
//! table, and every change of it is an addition, so that rivals do not depend on what they read.

use awo_domain::run::RunStatus;
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, OrgId, Timestamp};
use serde::Deserialize;
use std::collections::HashMap;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::due_shard;
use crate::engine::key::Key;

/// How long a waiting queue may go without a wake-up before the sweep sends another.
pub const WAKE_UP_MS: i64 = 20_000;

/// Since when an operator lets no run begin.
pub(crate) const PAUSED: &str = "pausedAt";
/// Since when the organization is suspended.
pub(crate) const SUSPENDED: &str = "suspendedAt";

/// Slots and queue size of organizations that have no limits of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Slots of the organization.
    pub max_concurrent: u32,
    /// Waiting entries.
    pub max_queue_size: u32,
}

/// The tally as it is read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Taken slots: leases.
    #[serde(default)]
    pub slots: i64,
    /// Waiting entries.
    #[serde(default)]
    pub waiting: i64,
    /// The organization's own slots.
    pub max_concurrent: Option<u32>,
    /// The organization's own queue size.
    pub max_queue_size: Option<u32>,
    /// The tenant that was served last.
    pub last_served: Option<String>,
    /// Since when an operator lets no run begin.
    pub paused_at: Option<Timestamp>,
    /// Since when the organization is suspended.
    pub suspended_at: Option<Timestamp>,
    /// True if the organization has no webhooks; false if it has, or may have.
    #[serde(default)]
    pub no_webhooks: bool,
    /// True if the organization may have to be alerted of something.
    #[serde(default)]
    pub watched: bool,
    #[serde(flatten)]
    counts: HashMap<String, serde_json::Value>,
}

impl Tally {
    /// Slots that a run may take now: none while the organization is paused or suspended.
    #[must_use]
    pub fn free_slots(&self, limits: QueueLimits) -> i64 {
        if self.is_held() {
            return 0;
        }
        i64::from(self.max_concurrent.unwrap_or(limits.max_concurrent)) - self.slots
    }

    /// True while no run may begin.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.paused_at.is_some() || self.suspended_at.is_some()
    }

    /// How many work orders there are, of one status or in all.
    #[must_use]
    pub fn work_orders(&self, status: Option<WorkOrderStatus>) -> u64 {
        let of = |status| self.count(&work_orders_in(status));
        status.map_or_else(|| WorkOrderStatus::ALL.into_iter().map(of).sum(), of)
    }

    /// How many runs there are, of one status or in all.
    #[must_use]
    pub fn runs(&self, status: Option<RunStatus>) -> u64 {
        let of = |status| self.count(&runs_in(status));
        status.map_or_else(|| RunStatus::ALL.into_iter().map(of).sum(), of)
    }

    fn count(&self, name: &str) -> u64 {
        self.counts
            .get(name)
            .and_then(serde_json::Value::as_u64)
            .unwrap_or(0)
    }
}

fn work_orders_in(status: WorkOrderStatus) -> String {
    format!("wo_{}", status.as_str())
}

fn runs_in(status: RunStatus) -> String {
    format!("run_{}", status.as_str())
}

/// Changes of the tally, by what happened.
impl Change {
    /// A work order changed from one status to another, or was created.
    pub(crate) fn count_work_order(
        self,
        from: Option<WorkOrderStatus>,
        to: WorkOrderStatus,
    ) -> Change {
        let left = match from {
            Some(from) => self.add(work_orders_in(from), -1),
            None => self,
        };
        left.add(work_orders_in(to), 1)
    }

    /// A run changed from one status to another, or was created.
    pub(crate) fn count_run(self, from: Option<RunStatus>, to: RunStatus) -> Change {
        let left = match from {
            Some(from) => self.add(runs_in(from), -1),
            None => self,
        };
        left.add(runs_in(to), 1)
    }

    /// A work order of this status is no more.
    pub(crate) fn uncount_work_order(self, status: WorkOrderStatus) -> Change {
        self.add(work_orders_in(status), -1)
    }

    /// A run of this status is no more.
    pub(crate) fn uncount_run(self, status: RunStatus) -> Change {
        self.add(runs_in(status), -1)
    }

    /// An entry came, if there is room; a wake-up will be sent, and if the wake-up is lost the sweep does.
    pub(crate) fn entry_came(self, org: &OrgId, limits: QueueLimits, now: Timestamp) -> Change {
        self.add("waiting", 1)
            .compare_or(
                "waiting",
                "<",
                "maxQueueSize",
                i64::from(limits.max_queue_size),
            )
            .set("dueShard", due_shard(org.as_str()))
            .set_if_missing("dueAt", now.plus_ms(WAKE_UP_MS).epoch_ms())
            .set("orgId", org)
    }

    /// An entry came back that was in the queue before: there is always room for it.
    pub(crate) fn entry_came_back(self, org: &OrgId, now: Timestamp) -> Change {
        self.add("waiting", 1)
            .set("dueShard", due_shard(org.as_str()))
            .set_if_missing("dueAt", now.plus_ms(WAKE_UP_MS).epoch_ms())
            .set("orgId", org)
    }

    /// An entry left the queue.
    pub(crate) fn entry_left(self) -> Change {
        self.entries_left(1)
    }

    /// So many entries left the queue.
    pub(crate) fn entries_left(self, entries: u32) -> Change {
        self.add("waiting", -i64::from(entries))
    }

    /// This tenant got a slot, if there is one, no operator holds the queue, and no other tenant was
    /// served meanwhile.
    pub(crate) fn slot_taken(
        self,
        tenant: &str,
        last_served: Option<&str>,
        limits: QueueLimits,
    ) -> Change {
        self.add("slots", 1)
            .when_missing(PAUSED)
            .when_missing(SUSPENDED)
            .compare_or(
                "slots",
                "<",
                "maxConcurrent",
                i64::from(limits.max_concurrent),
            )
            .set("lastServed", tenant)
            .when_option("lastServed", last_served)
    }
}

impl Store {
    /// The tally of an organization; all zero if nothing ever happened.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn tally(&self, org: &OrgId) -> Result<Tally, Error> {
        let tally: Option<Tally> = self.get(&Key::tally(org)).await?;
        let tally = tally.unwrap_or_default();
        self.subscribers.note(org, !tally.no_webhooks);
        Ok(tally)
    }
}
