//! The queue's rules: the next work order, its estimated start, and the queue's health.
//!
//! Tenants take turns in the order of their names, beginning after the one that was served last;
//! within a tenant the oldest entry is first. Without tenants that is first come, first served. The
//! dispatcher and the queue position call this one function.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use utoipa::ToSchema;

use crate::{Timestamp, WorkOrderId};

/// Most entries that an organization's queue may be allowed to hold.
pub const MAX_QUEUE_SIZE: u32 = 1_000;

/// A waiting entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingEntry {
    /// The work order.
    pub work_order_id: WorkOrderId,
    /// When it came: a work order that is started again comes anew.
    pub enqueued_at: Timestamp,
    /// Whose it is; empty where the work order has no tenant.
    pub tenant: String,
    /// True if no credits are reserved for it yet, because a budget does not cover them.
    pub waits_for_budget: bool,
}

/// The entries in the order in which they will be taken, if none is added: behind those that can be
/// taken, those that wait for a budget.
///
/// `last_served` is the tenant of the entry that was taken last.
#[must_use]
pub fn fair_order<'a>(
    entries: &'a [WaitingEntry],
    last_served: Option<&str>,
) -> Vec<&'a WaitingEntry> {
    let (later, now): (Vec<&WaitingEntry>, Vec<&WaitingEntry>) =
        entries.iter().partition(|entry| entry.waits_for_budget);
    let mut order = in_turns(now, last_served);
    order.extend(in_turns(later, last_served));
    order
}

fn in_turns<'a>(
    entries: Vec<&'a WaitingEntry>,
    last_served: Option<&str>,
) -> Vec<&'a WaitingEntry> {
    let count = entries.len();
    let mut by_tenant: BTreeMap<&str, Vec<&WaitingEntry>> = BTreeMap::new();
    for entry in entries {
        by_tenant
            .entry(entry.tenant.as_str())
            .or_default()
            .push(entry);
    }
    let (served, unserved): (Vec<&str>, Vec<&str>) = by_tenant
        .keys()
        .partition(|tenant| last_served.is_some_and(|last| **tenant <= last));
    let mut delivery_permits: VecDeque<VecDeque<&WaitingEntry>> = unserved
        .into_iter()
        .chain(served)
        .filter_map(|tenant| by_tenant.remove(tenant))
        .map(|mut delivery_permit| {
            delivery_permit.sort_by_key(|entry| (entry.enqueued_at, &entry.work_order_id));
            delivery_permit.into()
        })
        .collect();
    let mut order = Vec::with_capacity(count);
    while let Some(mut delivery_permit) = delivery_permits.pop_front() {
        order.extend(delivery_permit.pop_front());
        if !delivery_permit.is_empty() {
            delivery_permits.push_back(delivery_permit);
        }
    }
    order
}

/// How long a run is thought to take where none has finished yet.
pub const USUAL_DURATION_MS: i64 = 5 * 60_000;
/// Number of finished runs that the estimate uses.
pub const RUNS_LOOKED_BACK_ON: u32 = 20;

/// When the entry at a position (from 1) may be started, if runs take as long as the last ones
/// did: a guess, since every slot is thought to be given to one run after the other from now on.
#[must_use]
pub fn estimated_start(
    now: Timestamp,
    position: u32,
    max_concurrent: u32,
    last_durations_ms: &[i64],
) -> Timestamp {
    let count = i64::try_from(last_durations_ms.len()).unwrap_or(i64::MAX);
    let sum = last_durations_ms
        .iter()
        .fold(0_i64, |sum, ms| sum.saturating_add((*ms).max(0)));
    let mean = sum.checked_div(count).unwrap_or(USUAL_DURATION_MS);
    let rounds = i64::from(position.div_ceil(max_concurrent.max(1)));
    now.plus_ms(mean.saturating_mul(rounds))
}

/// Where a work order stands that the queue still knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = QueueEntryState)]
pub enum EntryState {
    /// It waits for a slot.
    Waiting,
    /// It has a slot.
    Running,
    /// It is over; its compute is still stopping, so that its slot is not free yet.
    Completed,
}

/// How a queue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = QueueHealthStatus)]
pub enum Health {
    /// There is room.
    Healthy,
    /// More than 80 % of it is full.
    Degraded,
    /// It is full and takes no more.
    Unhealthy,
}

/// What an organization's queue holds, and what it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Taken slots.
    pub running: u32,
    /// Waiting entries.
    pub waiting: u32,
    /// Slots of the organization.
    pub max_concurrent: u32,
    /// Most waiting entries.
    pub max_queue_size: u32,
    /// True while an operator lets no run begin.
    pub is_held: bool,
}

impl Load {
    /// True if another entry would be taken.
    #[must_use]
    pub fn is_accepting(self) -> bool {
        self.waiting < self.max_queue_size
    }

    /// True if another entry would get a slot at once: one is free, and no entry waits for it.
    #[must_use]
    pub fn can_start_immediately(self) -> bool {
        !self.is_held
            && self.is_accepting()
            && self.running.saturating_add(self.waiting) < self.max_concurrent
    }

    /// From 0 to 1: waiting entries by the most that there may be.
    #[must_use]
    pub fn utilization(self) -> f64 {
        if self.is_accepting() {
            f64::from(self.waiting) / f64::from(self.max_queue_size)
        } else {
            1.0
        }
    }

    /// How the queue is.
    #[must_use]
    pub fn health(self) -> Health {
        if !self.is_accepting() {
            Health::Unhealthy
        } else if u64::from(self.waiting) * 5 > u64::from(self.max_queue_size) * 4 {
            Health::Degraded
        } else {
            Health::Healthy
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(tenant: &str, at: i64) -> WaitingEntry {
        WaitingEntry {
            work_order_id: WorkOrderId::new(Timestamp::from_epoch_ms(at), 0),
            enqueued_at: Timestamp::from_epoch_ms(at),
            tenant: tenant.to_owned(),
            waits_for_budget: false,
        }
    }

    fn order(entries: &[WaitingEntry], last: Option<&str>) -> Vec<(String, i64)> {
        fair_order(entries, last)
            .into_iter()
            .map(|e| {
                let at = entries.iter().position(|x| x == e).unwrap();
                (e.tenant.clone(), i64::try_from(at).unwrap())
            })
            .collect()
    }

    #[test]
    fn without_tenants_it_is_first_come_first_served() {
        let entries = [entry("", 1), entry("", 2), entry("", 3)];
        assert_eq!(
            order(&entries, Some(""))
                .iter()
                .map(|e| e.1)
                .collect::<Vec<_>>(),
            [0, 1, 2]
        );
        assert_eq!(order(&entries, None).len(), 3);
    }

    #[test]
    fn tenants_take_turns_after_the_one_served_last() {
        let entries = [
            entry("a", 1),
            entry("a", 2),
            entry("a", 3),
            entry("b", 4),
            entry("c", 5),
        ];
        let tenants = |last| {
            order(&entries, last)
                .into_iter()
                .map(|e| e.0)
                .collect::<Vec<_>>()
                .concat()
        };
        assert_eq!(tenants(None), "abcaa");
        assert_eq!(tenants(Some("a")), "bcaaa");
        assert_eq!(tenants(Some("b")), "cabaa");
        assert_eq!(tenants(Some("zz")), "abcaa");
    }

    #[test]
    fn a_work_order_that_is_started_again_comes_after_those_that_came_meanwhile() {
        let mut again = entry("", 1);
        again.enqueued_at = Timestamp::from_epoch_ms(3);
        let entries = [again, entry("", 2), entry("", 4)];
        let order: Vec<i64> = fair_order(&entries, None)
            .iter()
            .map(|e| e.enqueued_at.epoch_ms())
            .collect();
        assert_eq!(order, [2, 3, 4]);
    }

    #[test]
    fn a_start_is_estimated_by_rounds_of_the_mean_duration() {
        let now = Timestamp::from_epoch_ms(1_000_000);
        let after = |position, slots, durations: &[i64]| {
            estimated_start(now, position, slots, durations).ms_since(now)
        };
        assert_eq!(after(1, 5, &[]), USUAL_DURATION_MS);
        assert_eq!(after(5, 5, &[10, 20]), 15);
        assert_eq!(after(6, 5, &[10, 20]), 30);
        assert_eq!(after(3, 0, &[10]), 30, "without a slot as with one");
        assert_eq!(
            after(1, 1, &[-5, 5]),
            2,
            "a clock that ran back counts as no time"
        );
    }

    #[test]
    fn a_queue_is_degraded_above_four_fifths_and_unhealthy_when_full() {
        let health = |waiting, max_queue_size| {
            let load = Load {
                running: 0,
                waiting,
                max_concurrent: 1,
                max_queue_size,
                is_held: false,
            };
            load.health()
        };
        assert_eq!(health(0, 1), Health::Healthy);
        assert_eq!(health(80, 100), Health::Healthy);
        assert_eq!(health(81, 100), Health::Degraded);
        assert_eq!(health(99, 100), Health::Degraded);
        assert_eq!(health(100, 100), Health::Unhealthy);
        assert_eq!(health(101, 100), Health::Unhealthy, "the limit was lowered");
        assert_eq!(health(0, 0), Health::Unhealthy);
    }

    proptest! {
        #[test]
        fn the_figures_of_a_queue_agree(
            running in 0u32..12, waiting in 0u32..1_100, max_concurrent in 0u32..10, max_queue_size in 0u32..=1_000,
            is_held in proptest::bool::ANY,
        ) {
            let load = Load { running, waiting, max_concurrent, max_queue_size, is_held };
            prop_assert!((0.0..=1.0).contains(&load.utilization()));
            prop_assert_eq!(load.health() == Health::Unhealthy, !load.is_accepting());
            prop_assert_eq!(load.health() == Health::Healthy, load.utilization() <= 0.8);
            if load.can_start_immediately() {
                prop_assert!(!is_held && load.is_accepting() && running < max_concurrent);
            }
        }

        #[test]
        fn nobody_is_lost_and_a_flood_delays_another_tenant_by_one_turn(
            tenants in proptest::collection::vec(0u8..4, 0..60),
            last in proptest::option::of(0u8..5),
        ) {
            let name = |n: u8| if n == 0 { String::new() } else { format!("t{n}") };
            let entries: Vec<WaitingEntry> =
                tenants.iter().enumerate().map(|(i, t)| entry(&name(*t), i64::try_from(i).unwrap())).collect();
            let last = last.map(name);
            let order = fair_order(&entries, last.as_deref());
            prop_assert_eq!(order.len(), entries.len());
            let mut ids: Vec<_> = order.iter().map(|e| e.work_order_id.clone()).collect();
            ids.sort();
            ids.dedup();
            prop_assert_eq!(ids.len(), entries.len());
            let distinct: std::collections::BTreeSet<_> = entries.iter().map(|e| &e.tenant).collect();
            for tenant in &distinct {
                let place = order.iter().position(|e| e.tenant == **tenant).unwrap();
                prop_assert!(place < distinct.len(), "every tenant's first entry is in the first round");
            }
            // Taking the head and asking again gives the same order: position and dispatch agree.
            if let Some((head, tail)) = order.split_first() {
                let left: Vec<WaitingEntry> = entries.iter().filter(|e| e != head).cloned().collect();
                let again = fair_order(&left, Some(&head.tenant));
                prop_assert_eq!(again, tail.to_vec());
            }
        }
    }
}
