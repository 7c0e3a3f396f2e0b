//! Items in DynamoDB's form, and the partitions of the indexes.

use std::collections::HashMap;

use awo_domain::run::RunStatus;
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{OrgId, WorkOrderId};
use aws_sdk_dynamodb::types::AttributeValue;

/// An item as DynamoDB has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The version of the item shapes in this module's neighbours.
pub(crate) const SCHEMA_VERSION: u32 = 1;
/// Number of partitions of the index of due items, each of which takes 1 000 changes a second. The sweep
/// reads every one of them; a later version may have more, and no fewer.
pub(crate) const DUE_SHARDS: u8 = 16;

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

/// Partition of the index of due items: what is left of purged work orders. Apart from the others,
/// so that a large purge delays no other call.
pub(crate) const DUE_PURGES: &str = "purge";

/// Partition of the index of due items: families of task definitions. Apart from the others, since each
/// costs calls of ECS.
pub(crate) const DUE_DEFINITIONS: &str = "definition";

/// Partition of the index of due items: ledgers that are to be checked. Apart from the others, too.
pub(crate) const DUE_LEDGERS: &str = "ledger";

/// Partition of the index of due items: schedules. Apart from the others, since each may create a work order.
pub(crate) const DUE_SCHEDULES: &str = "schedule";

/// Partition of the index of due items: deliveries to inboxes. Apart from the others, since each may create work
/// orders.
pub(crate) const DUE_INBOXES: &str = "inbox";

/// Partition of the index of due items: pull requests whose forge is to be asked. Apart from the others, since each
/// costs a call of a forge.
pub(crate) const DUE_PULL_REQUESTS: &str = "pull";

/// Partition of the index of due items: reports of runs to forges. Apart from the others, since each costs calls of a
/// forge.
pub(crate) const DUE_REPORTS: &str = "report";

/// Partition of the index by parent: the pull requests of an organization with this hash of their URL.
pub(crate) fn pull_requests_with(org: &OrgId, digest: &str) -> String {
    format!("{org}#pull#{digest}")
}

/// Partition of the index of due items.
pub(crate) fn due_shard(of: &str) -> String {
    let sum: u32 = of.bytes().map(u32::from).sum();
    format!("due#{}", sum % u32::from(DUE_SHARDS))
}
