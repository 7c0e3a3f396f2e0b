//! Parts of the sweep. In the cloud each has an invocation of its own a minute; together they are all that
//! the sweep repairs.

use std::collections::BTreeSet;

use awo_store::Store;
use serde::Deserialize;

/// A part of the sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// Queues, leases, verifications, waiting parents and stops whose time has come.
    Items(ShardGroup),
    /// Notifications of events and deliveries that were not processed in time.
    Notifications(ShardGroup),
    /// Remains of purged work orders.
    Purges,
    /// Task definitions that no run needs any more.
    Definitions,
    /// Sums of costs.
    Costs,
    /// Daily checks of ledgers, and statements of closed months.
    Ledgers,
    /// Schedules whose time has come, or whose work orders may have ended.
    Schedules,
    /// Deliveries to inboxes that are not processed.
    Inboxes,
    /// Pull requests whose forge is to be asked.
    Outcomes,
    /// Reports of runs that are to be posted to forges.
    Reports,
}

/// Every `of`th shard of an index of due items, from the `nth` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ShardGroup {
    /// The first shard.
    nth: u8,
    /// Number of groups.
    of: u8,
}

impl ShardGroup {
    /// All shards.
    pub const ALL: ShardGroup = ShardGroup { nth: 0, of: 1 };

    /// The shards of the group.
    pub fn shards(self) -> impl Iterator<Item = u8> {
        Store::due_shards().filter(move |shard| shard % self.of.max(1) == self.nth)
    }
}

impl Part {
    /// All parts, for an invocation that sweeps everything.
    pub const ALL: [Part; 10] = [
        Part::Items(ShardGroup::ALL),
        Part::Notifications(ShardGroup::ALL),
        Part::Purges,
        Part::Definitions,
        Part::Costs,
        Part::Ledgers,
        Part::Schedules,
        Part::Inboxes,
        Part::Outcomes,
        Part::Reports,
    ];

    /// The coverage of these parts: each shard of each index, and each of the other parts.
    #[must_use]
    pub fn covered(parts: &[Part]) -> BTreeSet<(&'static str, u8)> {
        let of_part = |part: &Part| -> Vec<(&'static str, u8)> {
            let shards =
                |name, group: ShardGroup| group.shards().map(|shard| (name, shard)).collect();
            match *part {
                Part::Items(group) => shards("items", group),
                Part::Notifications(group) => shards("notifications", group),
                Part::Purges => vec![("purges", 0)],
                Part::Definitions => vec![("definitions", 0)],
                Part::Costs => vec![("costs", 0)],
                Part::Ledgers => vec![("ledgers", 0)],
                Part::Schedules => vec![("schedules", 0)],
                Part::Inboxes => vec![("inboxes", 0)],
                Part::Outcomes => vec![("outcomes", 0)],
                Part::Reports => vec![("reports", 0)],
            }
        };
        parts.iter().flat_map(of_part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_shards_cover_every_shard_once() {
        for number in [1, 2, 3, 8, 16, 40] {
            let groups = (0..number).map(|nth| ShardGroup { nth, of: number });
            let mut shards: Vec<u8> = groups.flat_map(ShardGroup::shards).collect();
            shards.sort_unstable();
            assert!(shards.into_iter().eq(Store::due_shards()), "{number}");
        }
    }
}
