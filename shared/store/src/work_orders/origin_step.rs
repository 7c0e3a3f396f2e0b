//! A step of what creates a work order by itself, which is part of the creation.

use awo_domain::Error;
use awo_domain::schedule::Origin;

use super::NewWorkOrder;
use crate::engine::transaction::Transaction;
use crate::schedules::ScheduleStep;
use crate::triggers::TriggerStep;

/// A step of a schedule or a trigger.
#[derive(Debug, Clone)]
pub enum OriginStep {
    /// The step of a schedule.
    Schedule(Box<ScheduleStep>),
    /// The step of a trigger.
    Trigger(Box<TriggerStep>),
}

impl OriginStep {
    /// The cause of the work order that the step creates.
    pub(super) fn origin(&self) -> Option<Origin> {
        match self {
            OriginStep::Schedule(step) => step.origin(),
            OriginStep::Trigger(step) => step.creation.as_ref().map(|made| made.origin.clone()),
        }
    }

    /// The creation of a work order with the step.
    pub(super) fn made(
        &self,
        transaction: Transaction,
        new: &NewWorkOrder,
    ) -> Result<Transaction, Error> {
        match self {
            OriginStep::Schedule(step) => transaction.schedule_step(&step.created(&new.id)),
            OriginStep::Trigger(step) => {
                let follow_up = new.follow_up.as_ref();
                let thread = follow_up.map(|follow_up| follow_up.previous.thread_id());
                let order = (&new.id, thread.unwrap_or(&new.id));
                transaction.trigger_step(step, Some(order))
            }
        }
    }
}
