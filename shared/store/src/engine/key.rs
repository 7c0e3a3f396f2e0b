//! The keys of items. An item's kind decides its table, so a key is all that a read or a write needs.

mod costs;
mod definitions;
mod inboxes;
mod outcomes;
mod settings;
mod triggers;

pub(crate) use costs::{
    DUE_COSTS, budget_counters, cost_heads, cost_sums, costs, listed_entries, new_costs, purchased,
    statements,
};
pub(crate) use definitions::task_definitions;
pub(crate) use inboxes::{delivery_marks, inbox_deliveries, inbox_indexes, unprocessed_deliveries};
pub(crate) use outcomes::{outcomes, pull_requests, reports};
pub(crate) use settings::{
    environments, firings, forges, key_indexes, plugins, profiles, schedules, settings_of,
    templates, webhooks,
};
pub(crate) use triggers::{trigger_orders, trigger_subjects, triggers};

use std::collections::HashMap;

use awo_domain::{DeliveryId, OrgId, RunId, Timestamp, TransactionId, WebhookId, WorkOrderId};
use aws_sdk_dynamodb::types::AttributeValue;

use crate::engine::item::Item;
use crate::engine::item_kind::{ItemKind, Table};

/// The partition of the deployment's capacity.
const CAPACITY: &str = "deployment#tasks";

/// Where an item is: the kind decides its table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub kind: ItemKind,
    pub pk: String,
    pub sk: String,
}

/// A partition of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    pub kind: ItemKind,
    pub pk: String,
}

impl Partition {
    pub fn new(kind: ItemKind, pk: String) -> Partition {
        Partition { kind, pk }
    }

    /// The item of the partition's kind with this sort key.
    fn key(self, sk: impl Into<String>) -> Key {
        Key::new(self.kind, self.pk, sk)
    }
}

impl Key {
    fn new(kind: ItemKind, pk: String, sk: impl Into<String>) -> Key {
        Key {
            kind,
            pk,
            sk: sk.into(),
        }
    }

    /// The key of an item of this kind, as an index shows it.
    pub fn of(kind: ItemKind, pk: String, sk: String) -> Key {
        Key { kind, pk, sk }
    }

    pub fn table(&self) -> Table {
        self.kind.table()
    }

    pub fn to_item(&self) -> Item {
        HashMap::from([
            ("pk".to_owned(), AttributeValue::S(self.pk.clone())),
            ("sk".to_owned(), AttributeValue::S(self.sk.clone())),
        ])
    }

    pub fn work_order(org: &OrgId, id: &WorkOrderId) -> Key {
        work_orders(org).key(id.as_str())
    }

    pub fn run(org: &OrgId, id: &RunId) -> Key {
        runs(org).key(id.as_str())
    }

    pub fn event(org: &OrgId, run: &RunId, sequence: u64) -> Key {
        events(org, run).key(format!("{sequence:010}"))
    }

    pub fn entry(org: &OrgId, id: &WorkOrderId) -> Key {
        queue(org).key(id.as_str())
    }

    pub fn lease(org: &OrgId, run: &RunId) -> Key {
        leases(org).key(run.as_str())
    }

    /// The same item as [`Key::work_order`], as the parent of another one.
    pub fn parent(org: &OrgId, id: &WorkOrderId) -> Key {
        Key {
            kind: ItemKind::Parent,
            ..Key::work_order(org, id)
        }
    }

    /// The same item as [`Key::run`], as the run whose hold a child's hold is taken out of.
    pub fn parent_run(org: &OrgId, id: &RunId) -> Key {
        Key {
            kind: ItemKind::ParentRun,
            ..Key::run(org, id)
        }
    }

    /// The thread whose first turn is this work order.
    pub fn thread(org: &OrgId, first: &WorkOrderId) -> Key {
        threads(org).key(first.as_str())
    }

    /// The link from a work order to its child.
    pub fn child(org: &OrgId, parent: &WorkOrderId, child: &WorkOrderId) -> Key {
        children_of(org, parent).key(child.as_str())
    }

    /// A work order that waits for its children.
    pub fn waiting(org: &OrgId, id: &WorkOrderId) -> Key {
        waiting(org).key(id.as_str())
    }

    /// A work order whose children are to be stopped like it.
    pub fn cascade(org: &OrgId, id: &WorkOrderId) -> Key {
        Key::new(ItemKind::Cascade, format!("{org}#cascade"), id.as_str())
    }

    pub fn tally(org: &OrgId) -> Key {
        Key::new(ItemKind::Tally, org.as_str().to_owned(), "tally")
    }

    /// Beside a tally.
    pub fn turns(tally: &Key) -> Key {
        Key::new(ItemKind::Turns, tally.pk.clone(), "turns")
    }

    pub fn idempotency(org: &OrgId, hash: &str) -> Key {
        Key::new(ItemKind::StoredResponse, format!("{org}#idem"), hash)
    }

    /// A permit of a call that holds a function.
    pub fn call_permit(partition: Partition, name: String) -> Key {
        partition.key(name)
    }

    /// The prompt of a work order that is too long for its own item.
    pub fn prompt(org: &OrgId, id: &WorkOrderId) -> Key {
        Key::new(ItemKind::Prompt, format!("{org}#prompt"), id.as_str())
    }

    pub fn log(org: &OrgId, run: &RunId, iteration: u32) -> Key {
        logs(org, run).key(format!("{iteration:010}"))
    }

    /// A part of a run's diff, from 1.
    pub fn diff(org: &OrgId, run: &RunId, part: u32) -> Key {
        diffs(org, run).key(format!("{part:010}"))
    }

    /// What is still to be deleted of work orders that were purged together: the first one's id.
    pub fn purge(org: &OrgId, first: &WorkOrderId) -> Key {
        Key::new(ItemKind::Purge, format!("{org}#purge"), first.as_str())
    }

    pub fn usage(org: &OrgId, completed_at: Timestamp, run: &RunId) -> Key {
        usage_records(org).key(format!("{completed_at}#{run}"))
    }

    /// A day's sums: of all runs, or of one model.
    pub fn day(org: &OrgId, at: Timestamp, model: Option<&str>) -> Key {
        let of = model.map(|model| format!("#{model}")).unwrap_or_default();
        days(org).key(format!("{}{of}", at.day()))
    }

    /// A run whose work order had runs on earlier days.
    pub fn again(org: &OrgId, completed_at: Timestamp, run: &RunId) -> Key {
        agains(org).key(format!("{completed_at}#{run}"))
    }

    pub fn balance(org: &OrgId) -> Key {
        Key::new(ItemKind::Balance, org.as_str().to_owned(), "balance")
    }

    pub fn ledger_entry(org: &OrgId, id: &TransactionId) -> Key {
        ledger_entries(org).key(id.as_str())
    }

    pub fn hold(org: &OrgId, run: &RunId) -> Key {
        Key::hold_of(org, run.as_str())
    }

    /// A hold, by the id of the run or of the manual verification that has it.
    pub fn hold_of(org: &OrgId, id: &str) -> Key {
        holds(org).key(id)
    }

    pub fn settlement(org: &OrgId, run: &RunId) -> Key {
        Key::settlement_of(org, run.as_str())
    }

    /// The settlement of a hold, by the id of the run or of the manual verification that had it.
    pub fn settlement_of(org: &OrgId, id: &str) -> Key {
        settlements(org).key(id)
    }

    /// Up to where the organization's ledger is checked.
    pub fn checkpoint(org: &OrgId) -> Key {
        Key::new(ItemKind::Checkpoint, format!("{org}#ledger"), "checkpoint")
    }

    /// Results of a base commit, by the hash of all that decides about them.
    pub fn baseline(org: &OrgId, hash: &str) -> Key {
        Key::new(ItemKind::Baseline, format!("{org}#baseline"), hash)
    }

    /// The refunds of a run or a manual verification, by its id.
    pub fn refunds(org: &OrgId, id: &str) -> Key {
        Key::new(ItemKind::Refunds, format!("{org}#refunded"), id)
    }

    /// An event whose deliveries are not created yet.
    pub fn outbox(org: &OrgId, name: &str) -> Key {
        outbox(org).key(name)
    }

    /// A delivery permit to a webhook's receiver, by its number.
    pub fn delivery_permit(org: &OrgId, webhook: &WebhookId, number: u32) -> Key {
        delivery_permits(org, webhook).key(format!("{number:02}"))
    }

    pub fn delivery(org: &OrgId, webhook: &WebhookId, id: &DeliveryId) -> Key {
        deliveries(org, webhook).key(id.as_str())
    }

    /// A permit of a manual verification, by its number.
    pub fn verification(org: &OrgId, permit: u32) -> Key {
        Key::new(
            ItemKind::Verification,
            format!("{org}#verification"),
            format!("{permit:02}"),
        )
    }

    /// A part of the deployment's capacity permits.
    pub fn capacity_shard(shard: u32) -> Key {
        Key::new(
            ItemKind::CapacityShard,
            CAPACITY.to_owned(),
            format!("shard#{shard:02}"),
        )
    }

    /// An organization that waits for one.
    pub fn capacity_waiter(org: &OrgId) -> Key {
        Key::new(
            ItemKind::CapacityWaiter,
            CAPACITY.to_owned(),
            format!("waits#{org}"),
        )
    }

    /// A configuration snapshot of a run, by its number from 1.
    pub fn snapshot(org: &OrgId, run: &RunId, number: u32) -> Key {
        snapshots(org, run).key(format!("{number:010}"))
    }
}

pub(crate) fn work_orders(org: &OrgId) -> Partition {
    Partition::new(ItemKind::WorkOrder, format!("{org}#wo"))
}

pub(crate) fn threads(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Thread, format!("{org}#thread"))
}

pub(crate) fn runs(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Run, format!("{org}#run"))
}

pub(crate) fn events(org: &OrgId, run: &RunId) -> Partition {
    Partition::new(ItemKind::Event, format!("{org}#{run}#event"))
}

pub(crate) fn queue(org: &OrgId) -> Partition {
    Partition::new(ItemKind::QueueEntry, format!("{org}#queue"))
}

pub(crate) fn waiting(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Waiting, format!("{org}#waiting"))
}

pub(crate) fn leases(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Lease, format!("{org}#lease"))
}

pub(crate) fn logs(org: &OrgId, run: &RunId) -> Partition {
    Partition::new(ItemKind::Log, format!("{org}#{run}#log"))
}

/// Partition of a run's diff.
pub(crate) fn diffs(org: &OrgId, run: &RunId) -> Partition {
    Partition::new(ItemKind::Diff, format!("{org}#{run}#diff"))
}

pub(crate) fn usage_records(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Usage, format!("{org}#usage"))
}

pub(crate) fn days(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Day, format!("{org}#day"))
}

pub(crate) fn agains(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Again, format!("{org}#again"))
}

pub(crate) fn ledger_entries(org: &OrgId) -> Partition {
    Partition::new(ItemKind::LedgerEntry, format!("{org}#entry"))
}

pub(crate) fn holds(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Hold, format!("{org}#hold"))
}

pub(crate) fn settlements(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Settlement, format!("{org}#settled"))
}

pub(crate) fn outbox(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Outbox, format!("{org}#outbox"))
}

/// Partition of the delivery permits to a webhook's receiver.
pub(crate) fn delivery_permits(org: &OrgId, webhook: &WebhookId) -> Partition {
    Partition::new(
        ItemKind::DeliveryPermit,
        format!("{org}#{webhook}#delivery_permit"),
    )
}

/// Partition of a webhook's deliveries.
pub(crate) fn deliveries(org: &OrgId, webhook: &WebhookId) -> Partition {
    Partition::new(ItemKind::Delivery, format!("{org}#{webhook}#delivery"))
}

pub(crate) fn snapshots(org: &OrgId, run: &RunId) -> Partition {
    Partition::new(ItemKind::Snapshot, format!("{org}#{run}#audit"))
}

/// The children of a work order: partition of the index by parent, and, consistent, of the table.
pub(crate) fn children_of(org: &OrgId, id: &WorkOrderId) -> Partition {
    Partition::new(ItemKind::Child, format!("{org}#{id}#child"))
}

/// The deployment's capacity permits, and the organizations that wait for one.
pub(crate) fn capacity() -> Partition {
    Partition::new(ItemKind::CapacityShard, CAPACITY.to_owned())
}
