//! Changes of a schedule: its work orders end, its times come, it pauses and goes on.

use serde::{Deserialize, Serialize};

use super::{Firing, FiringResult, MAX_OPEN_ORDERS, Overlap, PauseReason, Schedule};
use crate::work_order::WorkOrderStatus;
use crate::{Timestamp, WorkOrderId};

/// Times that were missed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissedTimes {
    /// Number of times.
    pub count: u32,
    /// The first one.
    pub from: Timestamp,
    /// The last one.
    pub to: Timestamp,
}

/// A work order of a schedule with its status; none if it was purged.
pub type OrderStanding = (WorkOrderId, Option<WorkOrderStatus>);

impl Schedule {
    /// The schedule after those of its work orders that are terminal by now have been counted. A failure
    /// counts, a success sets back; one that was canceled or purged does neither.
    #[must_use]
    pub fn counted(mut self, orders: &[OrderStanding]) -> Schedule {
        for (id, status) in orders {
            let Some(index) = self.open.iter().position(|open| open == id) else {
                continue;
            };
            if status.is_some_and(|status| !status.is_terminal()) {
                continue;
            }
            self.open.remove(index);
            match status {
                Some(WorkOrderStatus::Succeeded) => self.consecutive_failures = 0,
                Some(WorkOrderStatus::Failed) => self = self.failed(),
                _ => {}
            }
        }
        self
    }

    /// The schedule after one more failure.
    #[must_use]
    pub fn failed(mut self) -> Schedule {
        self.consecutive_failures += 1;
        let is_limit = self.consecutive_failures >= self.content.pause_after_failures;
        if is_limit && self.paused.is_none() {
            return self.paused_for(PauseReason::Failures);
        }
        self
    }

    /// The schedule paused.
    #[must_use]
    pub fn paused_for(self, reason: PauseReason) -> Schedule {
        Schedule {
            paused: Some(reason),
            next_at: None,
            ..self
        }
    }

    /// The schedule after it has created a work order.
    #[must_use]
    pub fn fired(mut self, order: WorkOrderId, now: Timestamp) -> Schedule {
        self.open.push(order);
        self.last_fired_at = Some(now);
        self
    }

    /// Whether a work order may not be created beside those that are not terminal.
    #[must_use]
    pub fn overlaps(&self, orders: &[OrderStanding]) -> bool {
        let is_queued = |(_, status): &OrderStanding| *status == Some(WorkOrderStatus::Queued);
        match self.content.overlap {
            Overlap::Skip => !self.open.is_empty(),
            Overlap::Queue => self.open.len() >= MAX_OPEN_ORDERS || orders.iter().any(is_queued),
        }
    }

    /// Whether it has something to do at a time: a time that has come, or work orders to look at.
    #[must_use]
    pub fn due_at(&self) -> Option<Timestamp> {
        let looks_at = (!self.open.is_empty())
            .then_some(self.last_fired_at)
            .flatten();
        self.next_at.into_iter().chain(looks_at).min()
    }
}

impl Firing {
    /// A firing without a work order.
    #[must_use]
    pub fn without_order(
        scheduled_for: Timestamp,
        result: FiringResult,
        reason: impl Into<String>,
        now: Timestamp,
    ) -> Firing {
        Firing {
            scheduled_for,
            fired_at: Some(now),
            result,
            reason: Some(reason.into()),
            work_order_id: None,
            missed: None,
        }
    }

    /// A firing that created a work order.
    #[must_use]
    pub fn created(scheduled_for: Timestamp, order: WorkOrderId, now: Timestamp) -> Firing {
        Firing {
            scheduled_for,
            fired_at: Some(now),
            result: FiringResult::Created,
            reason: None,
            work_order_id: Some(order),
            missed: None,
        }
    }

    /// Missed times.
    #[must_use]
    pub fn missed(missed: MissedTimes) -> Firing {
        Firing {
            scheduled_for: missed.from,
            fired_at: None,
            result: FiringResult::Missed,
            reason: None,
            work_order_id: None,
            missed: Some(missed),
        }
    }
}
