//! The run whose workspace a manual verification is of, as far as its environment and its cost need it.

use awo_domain::cost::Attribution;
use awo_domain::environment::Size;
use awo_domain::work_order::TenantContext;
use awo_domain::{RunId, WorkOrderId};
use serde::{Deserialize, Serialize};

use crate::runs::Run;
use crate::work_orders::WorkOrder;

/// A run whose workspace is verified.
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
    /// The client's customer, who pays for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_context: Option<TenantContext>,
    /// The further dimensions of the run's cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
}

impl VerifiedRun {
    /// A run of this work order, with the environment that the order has now.
    #[must_use]
    pub fn of(run: &Run, order: &WorkOrder) -> VerifiedRun {
        let in_environment = order.environment.is_some();
        VerifiedRun {
            run_id: run.run_id.clone(),
            work_order_id: order.id.clone(),
            size: order.size.filter(|_| in_environment),
            tenant_context: run.tenant_context.clone(),
            attribution: run.attribution.clone(),
        }
    }
}
