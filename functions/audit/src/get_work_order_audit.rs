//! `GET /api/v1/work-orders/{id}/audit`. An index lists the runs, so a run that was just created
//! may be missing.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::audit::output::{AuditedRunShape, WorkOrderAuditShape};
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-work-order-audit`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_WORK_ORDER_AUDIT, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let work_order_id = call.path_id()?;
    call.query().finish()?;
    let (order, runs) = tokio::try_join!(
        store.work_order(call.org(), &work_order_id),
        store.audited_runs(call.org(), &work_order_id)
    )?;
    order.ok_or(Error::NotFound(Resource::WorkOrder))?;
    Answer::ok(WorkOrderAuditShape {
        work_order_id,
        runs: runs.into_iter().map(AuditedRunShape::from).collect(),
    })
}
