//! Fair order: whose work order is next.
//!
//! Tenants take turns in the order of their names, beginning after the one that was served
//! last; within a tenant the oldest entry is first. Without tenants that is first come, first
//! served. The dispatcher and the queue position call this one function.

use std::collections::{BTreeMap, VecDeque};

use crate::WorkOrderId;

/// Most entries that an organization's queue may be allowed to hold.
pub const MAX_QUEUE_SIZE: u32 = 1_000;

/// A waiting entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The work order; its id also says when it came.
    pub work_order_id: WorkOrderId,
    /// Whose it is; empty where the work order has no tenant.
    pub tenant: String,
}

/// The entries in the order in which they will be taken, if none is added.
///
/// `last_served` is the tenant of the entry that was taken last.
#[must_use]
pub fn fair_order<'a>(entries: &'a [Waiting], last_served: Option<&str>) -> Vec<&'a Waiting> {
    let mut by_tenant: BTreeMap<&str, Vec<&Waiting>> = BTreeMap::new();
    for entry in entries {
        by_tenant
            .entry(entry.tenant.as_str())
            .or_default()
            .push(entry);
    }
    let (served, unserved): (Vec<&str>, Vec<&str>) = by_tenant
        .keys()
        .partition(|tenant| last_served.is_some_and(|last| **tenant <= last));
    let mut lanes: VecDeque<VecDeque<&Waiting>> = unserved
        .into_iter()
        .chain(served)
        .filter_map(|tenant| by_tenant.remove(tenant))
        .map(|mut lane| {
            lane.sort_by(|a, b| a.work_order_id.cmp(&b.work_order_id));
            lane.into()
        })
        .collect();
    let mut order = Vec::with_capacity(entries.len());
    while let Some(mut lane) = lanes.pop_front() {
        order.extend(lane.pop_front());
        if !lane.is_empty() {
            lanes.push_back(lane);
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use proptest::prelude::*;

    fn entry(tenant: &str, at: i64) -> Waiting {
        Waiting {
            work_order_id: WorkOrderId::new(Timestamp::from_epoch_ms(at), 0),
            tenant: tenant.to_owned(),
        }
    }

    fn order(entries: &[Waiting], last: Option<&str>) -> Vec<(String, i64)> {
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

    proptest! {
        #[test]
        fn nobody_is_lost_and_a_flood_delays_another_tenant_by_one_turn(
            tenants in proptest::collection::vec(0u8..4, 0..60),
            last in proptest::option::of(0u8..5),
        ) {
            let name = |n: u8| if n == 0 { String::new() } else { format!("t{n}") };
            let entries: Vec<Waiting> =
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
                let left: Vec<Waiting> = entries.iter().filter(|e| e != head).cloned().collect();
                let again = fair_order(&left, Some(&head.tenant));
                prop_assert_eq!(again, tail.to_vec());
            }
        }
    }
}
