//! The rules of work orders and their children.

use serde_json::Value;

use crate::rules::{Dump, number, text};

/// True for a run that has left its compute and is not over.
pub(crate) fn is_suspended(run: &Value) -> bool {
    run["status"] == "running" && run.get("suspension").is_some() && run.get("resumedAt").is_none()
}

impl Dump {
    /// A work order that waits stands in exactly one place, and has no runner; each child is
    /// linked below its parent.
    pub(crate) fn check_family(&self, order: &Value, run: &Value, broken: &mut Vec<String>) {
        let (id, run_id) = (text(order, "id"), text(run, "runId"));
        let waits = order["status"] == "waiting_for_children";
        let sealed = order.get("sealedAt").is_some();
        let handled = self.one("#waiting", &id).is_some();
        let entered = waits && self.waits(&run_id);
        if handled != (waits && !sealed) || entered != (waits && sealed) {
            broken.push(format!(
                "{id} waits: {waits}, sealed: {sealed}, the sweep is due: {handled}, in the \
                 queue: {entered}"
            ));
        }
        let lease = self.one("#lease", &run_id);
        let open = lease.is_some_and(|lease| lease.get("closedAt").is_none());
        if waits && (open || (sealed && lease.is_some())) {
            broken.push(format!("{id} waits, and its run has a lease: {lease:?}"));
        }
        let over = ["succeeded", "failed", "canceled"].contains(&text(run, "status").as_str());
        if lease.is_some() && !over && !waits && !open {
            broken.push(format!("{id} goes on, and the lease of its run is closed"));
        }
        let links = self.partition(&format!("#{id}#child"));
        if number(order, "children") != i64::try_from(links.len()).unwrap_or(i64::MAX) {
            broken.push(format!("{id} counts other children than {links:?}"));
        }
    }
}
