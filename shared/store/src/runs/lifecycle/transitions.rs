//! Results of the state machines as errors: an impossible transition is a conflict.

use awo_domain::run::{RunEvent, RunStatus};
use awo_domain::work_order::{WorkOrderEvent, WorkOrderStatus};
use awo_domain::{Error, OrgId, RunId};

use crate::engine::change::Change;
use crate::engine::item::work_orders_with;

pub(crate) fn after_run(from: RunStatus, event: RunEvent) -> Result<RunStatus, Error> {
    from.after(event)
        .ok_or_else(|| Error::Conflict(format!("a run that is {} cannot do that", from.as_str())))
}

pub(crate) fn after_order(
    from: WorkOrderStatus,
    event: WorkOrderEvent,
) -> Result<WorkOrderStatus, Error> {
    from.after(event).ok_or_else(|| {
        Error::Conflict(format!(
            "a work order that is {} cannot do that",
            from.as_str()
        ))
    })
}

impl Change {
    /// A work order's change from one status to another, if it still is there with this run.
    pub(crate) fn move_order(
        self,
        org: &OrgId,
        run: &RunId,
        from: WorkOrderStatus,
        to: WorkOrderStatus,
    ) -> Change {
        self.set("status", to)
            .set("statusKey", work_orders_with(org, to))
            .when("status", from)
            .when("runId", run)
    }
}
