//! The queue as the API shows it.

use awo_domain::queue::{EntryState, Health, Load};
use awo_domain::{Timestamp, WorkOrderId};
use awo_store::queue_view::Position;
use serde::Serialize;
use utoipa::ToSchema;

/// Where a work order stands in the queue.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuePositionShape<'a> {
    work_order_id: &'a WorkOrderId,
    position: u32,
    state: EntryState,
    enqueued_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_start_time: Option<Timestamp>,
}

impl<'a> QueuePositionShape<'a> {
    /// The position of this work order.
    #[must_use]
    pub fn of(id: &'a WorkOrderId, position: &Position) -> QueuePositionShape<'a> {
        QueuePositionShape {
            work_order_id: id,
            position: position.position,
            state: position.state,
            enqueued_at: position.enqueued_at,
            estimated_start_time: position.estimated_start,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct QueueStatsShape {
    running: u32,
    waiting: u32,
    max_concurrent: u32,
    max_queue_size: u32,
    accepting: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct QueueIndicatorsShape {
    accepting: bool,
    can_start_immediately: bool,
    queue_depth: u32,
    running_count: u32,
}

/// How the queue is.
#[derive(Debug, Serialize, ToSchema)]
pub struct QueueHealthShape {
    status: Health,
    stats: QueueStatsShape,
    utilization: f64,
    timestamp: Timestamp,
    indicators: QueueIndicatorsShape,
}

impl QueueHealthShape {
    /// The health of a queue with this load.
    #[must_use]
    pub fn of(load: Load, now: Timestamp) -> QueueHealthShape {
        QueueHealthShape {
            status: load.health(),
            stats: QueueStatsShape {
                running: load.running,
                waiting: load.waiting,
                max_concurrent: load.max_concurrent,
                max_queue_size: load.max_queue_size,
                accepting: load.is_accepting(),
            },
            utilization: load.utilization(),
            timestamp: now,
            indicators: QueueIndicatorsShape {
                accepting: load.is_accepting(),
                can_start_immediately: load.can_start_immediately(),
                queue_depth: load.waiting,
                running_count: load.running,
            },
        }
    }
}
