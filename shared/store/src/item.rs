//! Items in DynamoDB's form, and the keys of the tables.

mod costs;

pub(crate) use costs::{DUE_COSTS, cost_sums, costs, new_costs, statements};

use std::collections::HashMap;

use awo_domain::api_key::KeyId;
use awo_domain::environment::EnvironmentName;
use awo_domain::plugin::PluginId;
use awo_domain::profile::ProfileName;
use awo_domain::run::RunStatus;
use awo_domain::template::TemplateId;
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{DeliveryId, OrgId, RunId, Timestamp, TransactionId, WebhookId, WorkOrderId};
use aws_sdk_dynamodb::types::AttributeValue;

/// An item as DynamoDB has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The version of the item shapes in this module's neighbours.
pub(crate) const SCHEMA_VERSION: u32 = 1;
/// Over how many partitions the index of due items is spread.
pub(crate) const DUE_SHARDS: u8 = 4;

/// A partition key and a sort key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub pk: String,
    pub sk: String,
}

impl Key {
    fn new(pk: String, sk: impl Into<String>) -> Key {
        Key { pk, sk: sk.into() }
    }

    pub fn to_item(&self) -> Item {
        HashMap::from([
            ("pk".to_owned(), AttributeValue::S(self.pk.clone())),
            ("sk".to_owned(), AttributeValue::S(self.sk.clone())),
        ])
    }

    pub fn work_order(org: &OrgId, id: &WorkOrderId) -> Key {
        Key::new(work_orders(org), id.as_str())
    }

    pub fn run(org: &OrgId, id: &RunId) -> Key {
        Key::new(runs(org), id.as_str())
    }

    pub fn event(org: &OrgId, run: &RunId, sequence: u64) -> Key {
        Key::new(events(org, run), format!("{sequence:010}"))
    }

    pub fn entry(org: &OrgId, id: &WorkOrderId) -> Key {
        Key::new(queue(org), id.as_str())
    }

    pub fn lease(org: &OrgId, run: &RunId) -> Key {
        Key::new(leases(org), run.as_str())
    }

    /// What a work order says of a part of it.
    pub fn child(org: &OrgId, parent: &WorkOrderId, child: &WorkOrderId) -> Key {
        Key::new(children_of(org, parent), child.as_str())
    }

    /// A work order that waits for its children.
    pub fn waiting(org: &OrgId, id: &WorkOrderId) -> Key {
        Key::new(waiting(org), id.as_str())
    }

    /// A work order whose children are to be stopped like it.
    pub fn cascade(org: &OrgId, id: &WorkOrderId) -> Key {
        Key::new(format!("{org}#cascade"), id.as_str())
    }

    pub fn tally(org: &OrgId) -> Key {
        Key::new(org.as_str().to_owned(), "tally")
    }

    /// Beside a tally.
    pub fn turns(tally: &Key) -> Key {
        Key::new(tally.pk.clone(), "turns")
    }

    pub fn idempotency(org: &OrgId, hash: &str) -> Key {
        Key::new(format!("{org}#idem"), hash)
    }

    /// A permit of a call that holds a function.
    pub fn call_permit(partition: String, name: String) -> Key {
        Key::new(partition, name)
    }

    pub fn log(org: &OrgId, run: &RunId, iteration: u32) -> Key {
        Key::new(logs(org, run), format!("{iteration:010}"))
    }

    /// A part of a run's diff, from 1.
    pub fn diff(org: &OrgId, run: &RunId, part: u32) -> Key {
        Key::new(diffs(org, run), format!("{part:010}"))
    }

    /// What is still to be deleted of work orders that were purged together: the first one's id.
    pub fn purge(org: &OrgId, first: &WorkOrderId) -> Key {
        Key::new(format!("{org}#purge"), first.as_str())
    }

    pub fn usage(org: &OrgId, completed_at: Timestamp, run: &RunId) -> Key {
        Key::new(usage_records(org), format!("{completed_at}#{run}"))
    }

    /// A day's sums: of all runs, or of one model.
    pub fn day(org: &OrgId, at: Timestamp, model: Option<&str>) -> Key {
        let of = model.map(|model| format!("#{model}")).unwrap_or_default();
        Key::new(days(org), format!("{}{of}", at.day()))
    }

    /// A run whose work order had runs on earlier days.
    pub fn again(org: &OrgId, completed_at: Timestamp, run: &RunId) -> Key {
        Key::new(agains(org), format!("{completed_at}#{run}"))
    }

    pub fn balance(org: &OrgId) -> Key {
        Key::new(org.as_str().to_owned(), "balance")
    }

    pub fn ledger_entry(org: &OrgId, id: &TransactionId) -> Key {
        Key::new(ledger_entries(org), id.as_str())
    }

    pub fn hold(org: &OrgId, run: &RunId) -> Key {
        Key::new(holds(org), run.as_str())
    }

    pub fn settlement(org: &OrgId, run: &RunId) -> Key {
        Key::settlement_of(org, run.as_str())
    }

    /// As [`Key::settlement`], by the run as it stands in the hold's key.
    pub fn settlement_of(org: &OrgId, run: &str) -> Key {
        Key::new(settlements(org), run)
    }

    /// Up to where the organization's ledger is checked.
    pub fn checkpoint(org: &OrgId) -> Key {
        Key::new(format!("{org}#ledger"), "checkpoint")
    }

    pub fn refunds(org: &OrgId, run: &RunId) -> Key {
        Key::new(format!("{org}#refunded"), run.as_str())
    }

    pub fn organization(org: &OrgId) -> Key {
        Key::new(org.as_str().to_owned(), "org")
    }

    pub fn key_index(org: &OrgId, key: &KeyId) -> Key {
        Key::new(key_indexes(org), key.as_str())
    }

    pub fn template(org: &OrgId, id: &TemplateId) -> Key {
        Key::new(templates(org), id.as_str())
    }

    pub fn template_count(org: &OrgId) -> Key {
        Key::new(format!("{org}#templates"), "count")
    }

    pub fn environment(org: &OrgId, name: &EnvironmentName) -> Key {
        Key::new(environments(org), name.as_str())
    }

    pub fn environment_count(org: &OrgId) -> Key {
        Key::new(format!("{org}#environments"), "count")
    }

    /// What an operator has set about the organization's model providers.
    pub fn providers(org: &OrgId) -> Key {
        Key::new(format!("{org}#providers"), "settings")
    }

    pub fn plugin(org: &OrgId, id: &PluginId) -> Key {
        Key::new(plugins(org), id.as_str())
    }

    pub fn plugin_count(org: &OrgId) -> Key {
        Key::new(format!("{org}#plugins"), "count")
    }

    pub fn webhook(org: &OrgId, id: &WebhookId) -> Key {
        Key::new(webhooks(org), id.as_str())
    }

    pub fn webhook_count(org: &OrgId) -> Key {
        Key::new(format!("{org}#webhooks"), "count")
    }

    /// A first answer that shows a webhook's secret: beside the webhooks, so that nobody can read
    /// it who may not read those.
    pub fn webhook_answer(org: &OrgId, hash: &str) -> Key {
        Key::new(format!("{org}#webhook-answer"), hash)
    }

    /// An event that webhooks are still to be told of.
    pub fn outbox(org: &OrgId, name: &str) -> Key {
        Key::new(outbox(org), name)
    }

    /// A delivery permit to a webhook's receiver, by its number.
    pub fn delivery_permit(org: &OrgId, webhook: &WebhookId, number: u32) -> Key {
        Key::new(
            format!("{org}#{webhook}#delivery_permit"),
            format!("{number:02}"),
        )
    }

    pub fn delivery(org: &OrgId, webhook: &WebhookId, id: &DeliveryId) -> Key {
        Key::new(deliveries(org, webhook), id.as_str())
    }

    /// A place for a manual verification, by its number.
    pub fn verification(org: &OrgId, place: u32) -> Key {
        Key::new(format!("{org}#verification"), format!("{place:02}"))
    }

    /// A part of the deployment's places for tasks.
    pub fn task_places(shard: u32) -> Key {
        Key::new(TASK_PLACES.to_owned(), format!("shard#{shard:02}"))
    }

    /// An organization that waits for such a place.
    pub fn in_line(org: &OrgId) -> Key {
        Key::new(TASK_PLACES.to_owned(), format!("waits#{org}"))
    }

    pub fn task_definition(org: &OrgId) -> Key {
        Key::new(format!("{org}#task"), "definition")
    }

    pub fn profile(org: &OrgId, name: &ProfileName) -> Key {
        Key::new(profiles(org), name.as_str())
    }

    pub fn profile_changes(org: &OrgId) -> Key {
        Key::new(format!("{org}#profiles"), "changes")
    }

    /// A configuration snapshot of a run, by its number from 1.
    pub fn snapshot(org: &OrgId, run: &RunId, number: u32) -> Key {
        Key::new(snapshots(org, run), format!("{number:010}"))
    }

    pub fn api_key(key: &KeyId) -> Key {
        Key::new(format!("key#{key}"), "key")
    }

    /// What authenticates a key, by the hash of the whole key.
    pub fn credential(hash: &str) -> Key {
        Key::new(format!("credential#{hash}"), "credential")
    }
}

pub(crate) fn work_orders(org: &OrgId) -> String {
    format!("{org}#wo")
}

pub(crate) fn runs(org: &OrgId) -> String {
    format!("{org}#run")
}

pub(crate) fn events(org: &OrgId, run: &RunId) -> String {
    format!("{org}#{run}#event")
}

pub(crate) fn queue(org: &OrgId) -> String {
    format!("{org}#queue")
}

pub(crate) fn waiting(org: &OrgId) -> String {
    format!("{org}#waiting")
}

pub(crate) fn leases(org: &OrgId) -> String {
    format!("{org}#lease")
}

pub(crate) fn logs(org: &OrgId, run: &RunId) -> String {
    format!("{org}#{run}#log")
}

/// Partition of a run's audit.
/// Partition of a run's diff.
pub(crate) fn diffs(org: &OrgId, run: &RunId) -> String {
    format!("{org}#{run}#diff")
}

pub(crate) fn usage_records(org: &OrgId) -> String {
    format!("{org}#usage")
}

pub(crate) fn days(org: &OrgId) -> String {
    format!("{org}#day")
}

pub(crate) fn agains(org: &OrgId) -> String {
    format!("{org}#again")
}

pub(crate) fn ledger_entries(org: &OrgId) -> String {
    format!("{org}#entry")
}

pub(crate) fn holds(org: &OrgId) -> String {
    format!("{org}#hold")
}

pub(crate) fn settlements(org: &OrgId) -> String {
    format!("{org}#settled")
}

pub(crate) fn key_indexes(org: &OrgId) -> String {
    format!("{org}#key")
}

pub(crate) fn templates(org: &OrgId) -> String {
    format!("{org}#template")
}

pub(crate) fn environments(org: &OrgId) -> String {
    format!("{org}#environment")
}

pub(crate) fn plugins(org: &OrgId) -> String {
    format!("{org}#plugin")
}

pub(crate) fn webhooks(org: &OrgId) -> String {
    format!("{org}#webhook")
}

pub(crate) fn outbox(org: &OrgId) -> String {
    format!("{org}#outbox")
}

/// Partition of a webhook's deliveries.
pub(crate) fn deliveries(org: &OrgId, webhook: &WebhookId) -> String {
    format!("{org}#{webhook}#delivery")
}

pub(crate) fn profiles(org: &OrgId) -> String {
    format!("{org}#profile")
}

pub(crate) fn snapshots(org: &OrgId, run: &RunId) -> String {
    format!("{org}#{run}#audit")
}

/// Partition of the index by status.
pub(crate) fn work_orders_with(org: &OrgId, status: WorkOrderStatus) -> String {
    format!("{org}#wo#{}", status.as_str())
}

/// Partition of the index by status.
pub(crate) fn runs_with(org: &OrgId, status: RunStatus) -> String {
    format!("{org}#run#{}", status.as_str())
}

/// Partition of the index by parent: the runs of a work order.
pub(crate) fn runs_of(org: &OrgId, id: &WorkOrderId) -> String {
    format!("{org}#{id}")
}

/// The children of a work order: partition of the index by parent, and, consistent, of the table.
pub(crate) fn children_of(org: &OrgId, id: &WorkOrderId) -> String {
    format!("{org}#{id}#child")
}

/// Partition of the index of due items: what is left of purged work orders. Apart from the others,
/// so that a large purge keeps nobody waiting.
pub(crate) const DUE_PURGES: &str = "purge";

/// Partition of the index of due items: ledgers that are to be checked. Apart from the others, too.
pub(crate) const DUE_LEDGERS: &str = "ledger";

/// Partition of the deployment's places for tasks, and of those who wait for one.
pub(crate) const TASK_PLACES: &str = "deployment#tasks";

/// Partition of the index of due items.
pub(crate) fn due_shard(of: &str) -> String {
    let sum: u32 = of.bytes().map(u32::from).sum();
    format!("due#{}", sum % u32::from(DUE_SHARDS))
}
