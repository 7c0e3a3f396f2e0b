//! The queue as the API shows it.

use awo_domain::queue::{EntryState, Health, Load};
use awo_domain::{Timestamp, WorkOrderId};
use awo_store::queue::view::Position;
use serde::Serialize;
use utoipa::ToSchema;

/// Where a work order stands in the queue.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuePositionShape<'a> {
    /// The work order.
    work_order_id: &'a WorkOrderId,
    /// From 1 in the order in which entries are taken; 0 once the work order has a slot.
    position: u32,
    /// Where it is.
    state: EntryState,
    /// When it entered the queue.
    enqueued_at: Timestamp,
    /// An estimate of its start: now + ⌈position / slots⌉ × the mean duration of the last 20 runs.
    /// Absent once it has a slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_start_time: Option<Timestamp>,
    /// `budget` while a budget does not cover the run: it gets its credits when the budget's period
    /// turns, its limit rises or other runs cost less than they reserved. `thread` until the turns of its
    /// thread before it have ended and their compute is gone. Else it waits for a slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<WaitsFor>,
}

/// The reason why a work order waits.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WaitsFor {
    /// A budget.
    Budget,
    /// Another turn of the thread.
    Thread,
}

impl WaitsFor {
    fn of(position: &Position) -> Option<WaitsFor> {
        if position.waits_for_thread {
            Some(WaitsFor::Thread)
        } else {
            position.waits_for_budget.then_some(WaitsFor::Budget)
        }
    }
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
            waits_for: WaitsFor::of(position),
        }
    }
}

/// The numbers of a queue.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct QueueStatsShape {
    /// Slots in use, those of compute that is still stopping included.
    running: u32,
    /// Work orders that wait.
    waiting: u32,
    /// Slots of the organization.
    max_concurrent: u32,
    /// Work orders that may wait at once.
    max_queue_size: u32,
    /// True if the queue takes another work order.
    accepting: bool,
}

/// The numbers of a queue, as a monitor asks for them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct QueueIndicatorsShape {
    /// True if the queue takes another work order.
    accepting: bool,
    /// True if a slot is free and no work order waits.
    can_start_immediately: bool,
    /// Work orders that wait.
    queue_depth: u32,
    /// Slots in use.
    running_count: u32,
}

/// How the queue is.
#[derive(Debug, Serialize, ToSchema)]
pub struct QueueHealthShape {
    /// Healthy, degraded or unhealthy.
    status: Health,
    /// Its numbers.
    stats: QueueStatsShape,
    /// Waiting work orders by `maxQueueSize`, from 0 to 1.
    utilization: f64,
    /// When this was measured.
    timestamp: Timestamp,
    /// The same numbers for a monitor.
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
