//! Work orders that are parts of others. A parent counts its children in the transaction that
//! creates each, on condition that it is not terminal and below its limit, so that no race exceeds
//! it. The same transaction links the child to its parent, so a decision on all children reads all
//! of them, and is conditional on the count that was read.

use awo_domain::work_order::{MAX_CHILDREN, MAX_DEPTH, WorkOrderStatus};
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{Item, SCHEMA_VERSION};
use crate::engine::key::{Key, children_of};
use crate::engine::list::Slice;
use crate::engine::table::read;
use crate::engine::transaction::Transaction;
use crate::runs::lifecycle::lease::lease_lost;
use crate::work_orders::{NewWorkOrder, WorkOrder};

/// A parent's record of a child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChildItem {
    work_order_id: WorkOrderId,
    created_at: Timestamp,
    v: u32,
}

/// Why a work order cannot have another child, if it cannot: for the field that names it.
#[must_use]
pub fn why_no_parent(parent: Option<&WorkOrder>) -> Option<String> {
    let Some(parent) = parent else {
        return Some(
            "is not the id of one of your work orders: GET /v1/work-orders lists them".to_owned(),
        );
    };
    if parent.status.is_terminal() {
        let status = parent.status.as_str();
        return Some(format!(
            "names a work order that is {status}: only one that has not ended can get children"
        ));
    }
    if parent.terms.agent.kind.is_verification() {
        return Some(
            "names a work order of the agent type verify: a verification has no children"
                .to_owned(),
        );
    }
    if parent.sealed_at.is_some() {
        return Some(
            "names a work order that accepts no more children: it is integrating its children, or \
             is being killed"
                .to_owned(),
        );
    }
    if parent.depth >= MAX_DEPTH {
        return Some(format!(
            "names a work order of depth {MAX_DEPTH}, the maximum"
        ));
    }
    (parent.children >= MAX_CHILDREN)
        .then(|| format!("names a work order that has {MAX_CHILDREN} children, the maximum"))
}

impl Store {
    /// The children of a work order, oldest first, all of them.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn child_ids(
        &self,
        org: &OrgId,
        parent: &WorkOrderId,
    ) -> Result<Vec<WorkOrderId>, Error> {
        let slice = Slice::of_partition(children_of(org, parent));
        let links = self.slice::<ChildItem>(slice.limit(MAX_CHILDREN)).await?;
        Ok(links.items.into_iter().map(|l| l.work_order_id).collect())
    }

    /// Makes a child count no longer for its parent, as if it had never been asked for. Doing it
    /// again changes nothing.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn discard_child(
        &self,
        org: &OrgId,
        parent: &WorkOrderId,
        child: &WorkOrderId,
    ) -> Result<(), Error> {
        let linked = Change::new().when_present("pk");
        let fewer = Change::new().add("children", -1).when_present("runId");
        // Refused, it is done already.
        Transaction::new()
            .delete(&Key::child(org, parent, child), linked)
            .update(&Key::parent(org, parent), fewer)
            .commit(self)
            .await?;
        Ok(())
    }
}

impl Change {
    /// Only if a work order has as many children as when it was read.
    pub(crate) fn with_children_of(self, order: &WorkOrder) -> Change {
        match order.children {
            0 => self.at_most_or_missing("children", 0),
            some => self.when("children", some),
        }
    }
}

impl Transaction {
    /// Counts and links a child, if the parent may have one.
    pub(crate) fn add_child(
        self,
        parent: &WorkOrderId,
        child: &NewWorkOrder,
    ) -> Result<Transaction, Error> {
        let org = &child.org;
        let terminal = WorkOrderStatus::ALL.into_iter().filter(|s| s.is_terminal());
        let change = Change::new()
            .add("children", 1)
            .when_present("runId")
            .when_missing("sealedAt")
            .at_most_or_missing("children", i64::from(MAX_CHILDREN) - 1);
        let change = match &child.asked_by {
            Some(asking) => change.when("runId", &asking.run_id),
            None => change,
        };
        let change = terminal.fold(change, |change, over| change.compare("status", "<>", over));
        let link = ChildItem {
            work_order_id: child.id.clone(),
            created_at: child.now,
            v: SCHEMA_VERSION,
        };
        self.update(&Key::parent(org, parent), change)
            .put(&Key::child(org, parent, &child.id), &link)
    }
}

/// What a parent's refusal means for the caller.
pub(crate) fn parent_refused(
    parent: Option<Item>,
    asked_by: Option<&RunId>,
) -> Result<Error, Error> {
    let parent: Option<WorkOrder> = parent.map(read).transpose()?;
    let is_newest = |run: &RunId| parent.as_ref().is_some_and(|parent| parent.run_id == *run);
    if asked_by.is_some_and(|run| !is_newest(run)) {
        return Ok(lease_lost());
    }
    Ok(match why_no_parent(parent.as_ref()) {
        Some(why) => Error::invalid("/parentId", why),
        None => Error::internal("a parent refused a child without a reason"),
    })
}
