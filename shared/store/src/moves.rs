//! The state machines' answers as errors: a move that is not possible is a conflict.

use awo_domain::Error;
use awo_domain::run::{RunEvent, RunStatus};
use awo_domain::work_order::{WorkOrderEvent, WorkOrderStatus};

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
