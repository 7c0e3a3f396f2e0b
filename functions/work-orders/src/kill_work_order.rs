//! `POST /api/v1/work-orders/{id}/kill`: responds when the processes have demonstrably ended.

use std::sync::Arc;
use std::time::Duration;

use awo_cloud::{Cloud, SetupError};
use awo_contract::work_orders::stops::KillBody;
use awo_contract::work_orders::stops::KilledShape;
use awo_domain::control::StopRequest;
use awo_domain::stop::{Stop, StopKind};
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, WorkOrderId};
use awo_execution::stopper::{KillOutcome, Stopper};
use awo_http::{Answer, Call, Reply, StreamingFunction, routes};
use awo_store::work_orders::cascades::FamilyStop;

/// The function `kill-work-order`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<StreamingFunction, SetupError> {
    StreamingFunction::keyed(
        cloud,
        &routes::KILL_WORK_ORDER,
        Stopper::new(cloud)?,
        handle,
    )
}

async fn handle(stopper: Arc<Stopper>, call: Call) -> Result<Reply, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let kill = call.object_or_nothing()?.read(&KillBody)?;
    let stop_request = StopRequest::Kill {
        grace_period_ms: kill.grace_period_ms,
        immediate: kill.immediate,
    };
    let stop = Stop {
        kind: StopKind::Kill,
        reason: kill.reason,
        requested_at: call.now,
    };
    Ok(Reply::late(async move {
        let stopping = FamilyStop {
            stop: &stop,
            children: Some(stop_request),
        };
        let holder = format!("{}-{}", call.request_id, call.now.epoch_ms());
        let killed = stopper
            .kill_for_caller(call.org(), &id, stop_request, &stopping, &holder)
            .await?;
        Answer::ok(shape(&id, &killed))
    }))
}

fn shape<'a>(id: &'a WorkOrderId, killed: &KillOutcome) -> KilledShape<'a> {
    let (success, forced_kill, took, status, message) = match killed {
        KillOutcome::NothingRan => (
            true,
            false,
            Duration::ZERO,
            WorkOrderStatus::Canceled,
            "no process was running; the work order is canceled".to_owned(),
        ),
        KillOutcome::HadEnded(status) => (
            true,
            false,
            Duration::ZERO,
            *status,
            format!("the work order was already terminal: {}", status.as_str()),
        ),
        KillOutcome::Dead {
            forced: false,
            took,
        } => (
            true,
            false,
            *took,
            WorkOrderStatus::Canceled,
            "the processes ended within the grace period".to_owned(),
        ),
        KillOutcome::Dead { forced: true, took } => (
            true,
            true,
            *took,
            WorkOrderStatus::Failed,
            "the processes were killed".to_owned(),
        ),
        KillOutcome::NotConfirmed { took } => (
            false,
            true,
            *took,
            WorkOrderStatus::Failed,
            "the kill could not be confirmed; the slot stays taken until it is".to_owned(),
        ),
    };
    KilledShape {
        id,
        success,
        forced_kill,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        status,
        message,
        error: (!success).then_some("the compute did not report its end in time"),
    }
}
