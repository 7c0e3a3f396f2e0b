//! The run whose workspace a manual verification is of, as far as its environment needs it.

use awo_domain::environment::Size;
use awo_domain::{RunId, WorkOrderId};
use serde::{Deserialize, Serialize};

use crate::work_orders::WorkOrder;

/// A run that has an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedRun {
    /// The run that the path names.
    pub run_id: RunId,
    /// Its work order, which has the environment's name.
    pub work_order_id: WorkOrderId,
    /// The size of its tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
}

impl VerifiedRun {
    /// A run of this work order; none if it has no environment.
    #[must_use]
    pub fn of(run_id: &RunId, order: &WorkOrder) -> Option<VerifiedRun> {
        order.environment.as_ref().map(|_| VerifiedRun {
            run_id: run_id.clone(),
            work_order_id: order.id.clone(),
            size: order.size,
        })
    }
}
