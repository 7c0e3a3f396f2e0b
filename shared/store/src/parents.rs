//! Work orders that are parts of others. A parent counts its children in the transaction that
//! creates each, under the conditions that it is not over and has room, so that no race makes one
//! too many.

use awo_domain::work_order::{MAX_CHILDREN, MAX_DEPTH, WorkOrderStatus};
use awo_domain::{Error, OrgId, WorkOrderId};

use crate::Store;
use crate::change::Change;
use crate::item::{Item, Key};
use crate::table::read;
use crate::transaction::{Guard, Transaction};
use crate::work_orders::WorkOrder;

/// Why a work order cannot have another child, if it cannot: for the field that names it.
#[must_use]
pub fn why_no_parent(parent: Option<&WorkOrder>) -> Option<String> {
    let Some(parent) = parent else {
        return Some(
            "is not the id of a work order of yours: GET /v1/work-orders lists them".to_owned(),
        );
    };
    if parent.status.is_terminal() {
        let status = parent.status.as_str();
        return Some(format!(
            "names a work order that is {status}: only one that is not over can get children"
        ));
    }
    if parent.depth >= MAX_DEPTH {
        return Some(format!(
            "names a work order of depth {MAX_DEPTH}, and none can be deeper"
        ));
    }
    (parent.children >= MAX_CHILDREN).then(|| {
        format!("names a work order that has {MAX_CHILDREN} children, and cannot have more")
    })
}

impl Transaction {
    /// Counts a child, if the parent may have one.
    pub(crate) fn add_child(
        self,
        store: &Store,
        org: &OrgId,
        parent: &WorkOrderId,
    ) -> Result<Transaction, Error> {
        let terminal = WorkOrderStatus::ALL.into_iter().filter(|s| s.is_terminal());
        let change = Change::new()
            .add("children", 1)
            .when_present("runId")
            .at_most_or_missing("children", i64::from(MAX_CHILDREN) - 1);
        let change = terminal.fold(change, |change, over| change.compare("status", "<>", over));
        let key = Key::work_order(org, parent);
        self.update(Guard::Parent, &store.tables.work, &key, change)
    }
}

/// What a parent's refusal tells the caller.
pub(crate) fn parent_refused(parent: Option<Item>) -> Result<Error, Error> {
    let parent: Option<WorkOrder> = parent.map(read).transpose()?;
    Ok(match why_no_parent(parent.as_ref()) {
        Some(why) => Error::invalid("/parentId", why),
        None => Error::internal("a parent refused a child without a reason"),
    })
}
