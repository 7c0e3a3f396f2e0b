//! `DELETE /api/v1/work-orders/{id}`: the work order is canceled with the response; its processes
//! end afterwards.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::work_orders::stops::CanceledShape;
use awo_domain::Error;
use awo_domain::stop::{Stop, StopKind};
use awo_domain::work_order::WorkOrderStatus;
use awo_execution::stopper::Stopper;
use awo_http::{Answer, Call, HttpFunction, routes};

/// The function `cancel-work-order`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(
        cloud,
        &routes::CANCEL_WORK_ORDER,
        Stopper::new(cloud)?,
        handle,
    )
}

async fn handle(stopper: Arc<Stopper>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    call.object_or_nothing()?.finish(Some(()))?;
    let stop = Stop {
        kind: StopKind::Cancel,
        reason: None,
        requested_at: call.now,
    };
    let canceled = stopper.cancel(call.org(), &id, &stop).await?;
    let message = match canceled.was {
        WorkOrderStatus::Queued => "the work order is canceled; it had not started",
        WorkOrderStatus::WaitingForChildren => {
            "the work order is canceled; it was waiting for its children, which are canceled too"
        }
        _ => "the work order is canceled; its processes are being stopped",
    };
    Answer::ok(CanceledShape {
        id: &id,
        status: WorkOrderStatus::Canceled,
        message,
        was_running: canceled.was.has_slot(),
    })
}
