//! Capacity permits: how many tasks all organizations together may have at once.
//!
//! A permit is taken in the transaction that creates a lease or a manual verification, and returned
//! in the one that deletes it, so there are as many taken permits as such items. They are counted
//! in several items (shards), so that organizations do not conflict in one: each has its part of
//! the limit, and the condition on the part makes the sum exact.
//!
//! An organization that finds no permit waits. A free permit belongs to the organization that has
//! waited longest, so that one whose runs end does not take each permit again before one that has
//! none. The index of due items shows who waits, those that have waited longest first, so that however many
//! wait, no more are read than there are free permits. It may be a second old: a newcomer may then be served before
//! one that began to wait in that second. How many permits there are does not depend on it.

use awo_domain::{Error, OrgId, Timestamp};
use serde::Deserialize;

use crate::Store;
use crate::capacity::waiters::PATIENCE_MS;
use crate::engine::change::Change;
use crate::engine::key::{Key, capacity};
use crate::engine::list::Slice;
use crate::engine::transaction::Transaction;

/// Permits of a shard, as long as there are no more than [`MAX_SHARDS`] of them.
const PERMITS_OF_A_SHARD: u32 = 25;
/// Most shards: what one reading covers, and what one transaction can be conditioned on.
const MAX_SHARDS: u32 = 40;
/// Logged when there is no free permit; an alarm filters on the event.
pub const AT_TASK_LIMIT: &str = "the deployment is at its task limit";

/// Most tasks of the deployment at once: at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxTasks(u32);

impl MaxTasks {
    /// So many; none if that is not even one.
    #[must_use]
    pub fn new(most: u32) -> Option<MaxTasks> {
        (most > 0).then_some(MaxTasks(most))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }

    fn shards(self) -> u32 {
        self.0.div_ceil(PERMITS_OF_A_SHARD).min(MAX_SHARDS)
    }

    /// The permits of a shard; the parts of all shards add up to the whole.
    fn part(self, shard: u32) -> i64 {
        let shards = self.shards();
        if shard < shards {
            i64::from(self.0 / shards + u32::from(shard < self.0 % shards))
        } else {
            0
        }
    }
}

/// A shard, or a waiting organization, as it is stored.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum PermitsItem {
    #[serde(rename_all = "camelCase")]
    Shard { shard: u32, taken: i64 },
    #[serde(rename_all = "camelCase")]
    Waiter {
        org_id: OrgId,
        since: Timestamp,
        asked_at: i64,
    },
}

/// A permit that was free when it was read.
#[derive(Debug, Clone)]
pub struct FreePermit {
    /// Which shard it is of.
    pub shard: u32,
    part: i64,
    /// The organization, if it waited: it has had its turn then.
    waiter: Option<OrgId>,
    /// What all shards must still hold, this one too, if one of them holds more than its part: the
    /// cap was higher, and until that is over the parts do not add up to it.
    all: Vec<(u32, Option<i64>)>,
}

/// The capacity that is left for an organization.
#[derive(Debug)]
pub struct Availability {
    /// A permit for the organization, if one is free and it is its turn.
    pub permit: Option<FreePermit>,
    /// Others whose turn it is, oldest first, no more than there are free permits.
    pub others: Vec<OrgId>,
    /// True if the organization waits.
    pub is_waiting: bool,
}

impl Availability {
    fn of(
        items: Vec<PermitsItem>,
        max: MaxTasks,
        org: &OrgId,
        near: &str,
        now: Timestamp,
    ) -> Availability {
        let (mut taken, mut waiters) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                PermitsItem::Shard { shard, taken: by } => taken.push((shard, by)),
                PermitsItem::Waiter {
                    org_id,
                    since,
                    asked_at,
                } if now.epoch_ms() - asked_at < PATIENCE_MS => waiters.push((since, org_id)),
                PermitsItem::Waiter { .. } => {}
            }
        }
        waiters.sort();
        let of_all: i64 = taken.iter().map(|(_, by)| *by).sum();
        let free = usize::try_from(i64::from(max.0) - of_all).unwrap_or(0);
        let before = waiters.iter().position(|(_, other)| other == org);
        let permit = (before.unwrap_or(waiters.len()) < free)
            .then(|| FreePermit::near(near, &taken, max))
            .flatten();
        let others = waiters.into_iter().take(free).map(|(_, other)| other);
        Availability {
            permit: permit.map(|permit| FreePermit {
                waiter: before.map(|_| org.clone()),
                ..permit
            }),
            others: others.filter(|other| other != org).collect(),
            is_waiting: before.is_some(),
        }
    }
}

impl FreePermit {
    /// The same, for a task that the organization does not wait for.
    pub(crate) fn without_waiting(self) -> FreePermit {
        FreePermit {
            waiter: None,
            ..self
        }
    }

    /// The first shard with a free permit, beginning at one that depends on the task.
    fn near(near: &str, taken: &[(u32, i64)], max: MaxTasks) -> Option<FreePermit> {
        let known = |shard: u32| taken.iter().find(|(of, _)| *of == shard).map(|(_, by)| *by);
        let shards = max.shards();
        let sum: u32 = near.bytes().map(u32::from).sum();
        let mut tried = (0..shards).map(|i| (sum + i) % shards);
        let shard = tried.find(|shard| known(*shard).unwrap_or(0) < max.part(*shard))?;
        let has_too_many = |(shard, by): &(u32, i64)| *by > max.part(*shard);
        let all = if taken.iter().any(has_too_many) {
            let beyond = taken.iter().map(|(of, _)| *of).filter(|of| *of >= shards);
            let all = (0..shards).chain(beyond);
            all.map(|of| (of, known(of))).collect()
        } else {
            Vec::new()
        };
        Some(FreePermit {
            shard,
            part: max.part(shard),
            waiter: None,
            all,
        })
    }
}

impl Transaction {
    /// Takes a permit, if it still is free.
    pub(crate) fn take_permit(mut self, permit: &FreePermit) -> Transaction {
        if let Some(org) = &permit.waiter {
            let served = Change::new().when_present("pk");
            self = self.delete(&Key::capacity_waiter(org), served);
        }
        let more = |shard: u32, by: i64| Change::new().add("taken", by).set("shard", shard);
        for (shard, known) in &permit.all {
            let by = i64::from(*shard == permit.shard);
            let same = more(*shard, by).when_option("taken", *known);
            self = self.update(&Key::capacity_shard(*shard), same);
        }
        if !permit.all.is_empty() {
            return self;
        }
        let taken = more(permit.shard, 1).at_most_or_missing("taken", permit.part - 1);
        let key = Key::capacity_shard(permit.shard);
        self.update(&key, taken)
    }

    /// Returns a permit; a lease from before there were permits has none.
    pub(crate) fn return_permit(self, shard: Option<u32>) -> Transaction {
        let Some(shard) = shard else {
            return self;
        };
        let key = Key::capacity_shard(shard);
        let returned = Change::new().add("taken", -1).set("shard", shard);
        self.update(&key, returned)
    }
}

impl Store {
    /// The capacity that is left for an organization. `near` is the task that the permit is for: which
    /// shard is tried first depends on it.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn capacity(
        &self,
        org: &OrgId,
        near: &str,
        max: MaxTasks,
        now: Timestamp,
    ) -> Result<Availability, Error> {
        let shards = Slice::of_partition(capacity()).between("shard#", "shard#~");
        // A limit that was lowered leaves some beyond.
        let shards = self.slice::<PermitsItem>(shards.limit(2 * MAX_SHARDS));
        let (shards, first) = tokio::try_join!(shards, self.waiter_keys(None, now))?;
        let mut items = shards.items;
        let taken = items.iter().map(|item| match item {
            PermitsItem::Shard { taken, .. } => *taken,
            PermitsItem::Waiter { .. } => 0,
        });
        let free = usize::try_from(i64::from(max.0) - taken.sum::<i64>()).unwrap_or(0);
        items.extend(self.first_waiters(first, org, free, now).await?);
        Ok(Availability::of(items, max, org, near, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_epoch_ms(1_790_000_000_000)
    }

    fn org(n: u128) -> OrgId {
        OrgId::new(now(), n)
    }

    fn shard(shard: u32, taken: i64) -> PermitsItem {
        PermitsItem::Shard { shard, taken }
    }

    fn waiter(n: u128, waits_ms: i64, silent_ms: i64) -> PermitsItem {
        PermitsItem::Waiter {
            org_id: org(n),
            since: now().plus_ms(-waits_ms),
            asked_at: now().plus_ms(-silent_ms).epoch_ms(),
        }
    }

    fn available(items: Vec<PermitsItem>, max: u32, of: u128) -> Availability {
        Availability::of(items, MaxTasks::new(max).unwrap(), &org(of), "run", now())
    }

    #[test]
    fn the_parts_of_the_shards_are_the_whole() {
        assert_eq!(MaxTasks::new(0), None);
        for most in [1, 2, 24, 25, 26, 30, 99, 100, 1_000, 1_001, 4_000_000_000] {
            let max = MaxTasks::new(most).unwrap();
            let parts = (0..MAX_SHARDS + 5).map(|shard| max.part(shard));
            assert_eq!(parts.sum::<i64>(), i64::from(most));
        }
    }

    #[test]
    fn a_full_shard_leaves_the_others_and_a_full_deployment_leaves_none() {
        for (a, b, wanted) in [(15, 14, Some(1)), (14, 15, Some(0)), (15, 15, None)] {
            let found = available(vec![shard(0, a), shard(1, b)], 30, 1);
            assert_eq!(found.permit.map(|permit| permit.shard), wanted);
        }
    }

    #[test]
    fn a_limit_that_was_higher_counts_every_permit_that_is_still_taken() {
        let above = |third| available(vec![shard(0, 5), shard(2, third)], 10, 1).permit;
        assert!(above(5).is_none(), "ten are taken");
        let permit = above(4).unwrap();
        assert_eq!((permit.shard, permit.part), (0, 10));
        assert_eq!(permit.all, [(0, Some(5)), (2, Some(4))]);
        assert!(available(vec![shard(0, 11)], 10, 1).permit.is_none());
    }

    #[test]
    fn permits_go_to_waiting_organizations_first_in_the_order_in_which_they_came() {
        let waiters = || {
            let mut items = vec![shard(0, 8)];
            items.extend([waiter(3, 10, 1), waiter(1, 30, 1), waiter(2, 20, 1)]);
            items
        };
        for (of, has, others) in [
            (1, true, vec![org(2)]),
            (2, true, vec![org(1)]),
            (3, false, vec![org(1), org(2)]),
            (4, false, vec![org(1), org(2)]),
        ] {
            let found = available(waiters(), 10, of);
            assert_eq!(
                (found.permit.is_some(), found.others),
                (has, others),
                "{of}"
            );
            assert_eq!(found.is_waiting, of != 4);
        }
    }

    #[test]
    fn an_organization_that_stopped_asking_delays_nobody() {
        let gone = waiter(1, 900_000, PATIENCE_MS);
        let found = available(vec![shard(0, 9), gone], 10, 2);
        assert!(found.permit.is_some() && found.others.is_empty());
    }
}
