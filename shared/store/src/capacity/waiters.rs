//! Organizations that wait for a capacity permit. The index of due items has them by the time since when
//! they wait, so that only the first of them are read, however many there are.

use std::collections::BTreeSet;

use awo_domain::{Error, OrgId, Timestamp};
use futures::{TryStreamExt, stream};

use crate::Store;
use crate::capacity::permits::PermitsItem;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::{ItemKind, Table};
use crate::engine::key::Key;
use crate::engine::schema::TTL_ATTRIBUTE;
use crate::engine::table::{UpdateOutcome, read};
use crate::engine::transaction::Transaction;
use crate::sweep::{DueCursor, DueKey, DuePage};

/// Waiting organizations that are read at once, and most times: those that stopped asking are passed over, and
/// removed.
const WAITERS: u32 = 25;
const MAX_READINGS: usize = 8;
const REMOVED_AT_ONCE: usize = 10;
/// Partition of the index of due items: those that wait, by the time since when they do.
const DUE_WAITERS: &str = "waits";
/// Longest time for which a waiting organization may go without asking again: somewhat more than two sweeps.
pub(super) const PATIENCE_MS: i64 = 150_000;
/// Age at which DynamoDB may delete an organization that stopped asking.
const FORGOTTEN_MS: i64 = 3_600_000;

/// The organizations that wait for capacity, as far as they were read.
#[derive(Debug, Default)]
struct Waiters {
    /// Organizations that still ask.
    asking: Vec<PermitsItem>,
    /// Organizations that have stopped asking, each with the time of its last request in Unix milliseconds.
    stopped: Vec<(OrgId, i64)>,
}

impl Waiters {
    fn take(&mut self, item: PermitsItem, now: Timestamp) {
        match item {
            PermitsItem::Waiter {
                org_id, asked_at, ..
            } if now.epoch_ms() - asked_at >= PATIENCE_MS => self.stopped.push((org_id, asked_at)),
            waiter => self.asking.push(waiter),
        }
    }
}

impl Store {
    pub(super) async fn waiter_keys(
        &self,
        after: Option<&DueCursor>,
        now: Timestamp,
    ) -> Result<DuePage<DueKey>, Error> {
        let partition = (Table::Work, DUE_WAITERS.to_owned());
        self.due_keys(partition, after, now, WAITERS).await
    }

    /// Returns the organizations that have waited longest, as many as there are free permits, and this
    /// one if it waits. Organizations that stopped asking are removed.
    pub(super) async fn first_waiters(
        &self,
        first: DuePage<DueKey>,
        org: &OrgId,
        free: usize,
        now: Timestamp,
    ) -> Result<Vec<PermitsItem>, Error> {
        let (mut waiters, mut page) = (Waiters::default(), first);
        let mut seen = BTreeSet::new();
        for _ in 0..MAX_READINGS {
            if page.items.is_empty() {
                break;
            }
            let keys = page
                .items
                .iter()
                .map(|key| Key::of(ItemKind::CapacityWaiter, key.pk.clone(), key.sk.clone()));
            let own = Key::capacity_waiter(org);
            let keys = keys.chain([own]).filter(|key| seen.insert(key.sk.clone()));
            for item in self.batch(keys.collect::<Vec<_>>()).await?.into_values() {
                waiters.take(read(item)?, now);
            }
            match &page.next {
                Some(next) if waiters.asking.len() < free => {
                    page = self.waiter_keys(Some(next), now).await?;
                }
                _ => break,
            }
        }
        stream::iter(waiters.stopped.into_iter().map(Ok))
            .try_for_each_concurrent(REMOVED_AT_ONCE, |(stopped, asked_at)| async move {
                let unchanged = Change::new().when("askedAt", asked_at);
                let key = Key::capacity_waiter(&stopped);
                let removed = Transaction::new().delete(&key, unchanged);
                removed.commit(self).await.map(|_| ())
            })
            .await?;
        Ok(waiters.asking)
    }

    /// Lets an organization wait for a permit, or go on waiting.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn add_capacity_waiter(&self, org: &OrgId, now: Timestamp) -> Result<(), Error> {
        let (key, asked_at) = (Key::capacity_waiter(org), now.epoch_ms());
        let asks = Change::new()
            .set("askedAt", asked_at)
            .set(TTL_ATTRIBUTE, now.plus_ms(FORGOTTEN_MS).epoch_ms() / 1_000);
        let again = asks.clone().compare("askedAt", ">", asked_at - PATIENCE_MS);
        if let UpdateOutcome::Refused(_) = self.update(&key, again).await? {
            let anew = asks
                .set("orgId", org)
                .set("since", now)
                .set("dueShard", DUE_WAITERS)
                .set("dueAt", now.epoch_ms())
                .set("v", SCHEMA_VERSION);
            self.update(&key, anew).await?;
        }
        Ok(())
    }

    /// An organization has no task left that needs a permit.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn remove_capacity_waiter(&self, org: &OrgId) -> Result<(), Error> {
        let stands = Change::new().when_present("pk");
        Transaction::new()
            .delete(&Key::capacity_waiter(org), stands)
            .commit(self)
            .await?;
        Ok(())
    }
}
