//! A step of a schedule: its new state, with the firings and the events that belong to it.

use awo_domain::schedule::{
    Firing, MissedTimes, Origin, OriginKind, PauseReason, Schedule, ScheduleMissedData,
    SchedulePausedData,
};
use awo_domain::webhook::EventType;
use awo_domain::webhook::identity::event_id_of;
use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};
use serde_json::json;

use super::CurrentSchedule;
use crate::Store;
use crate::engine::transaction::Transaction;
use crate::ledger::budgets::Alert;
use crate::webhooks::outbox::OutboxEvent;

/// A step of a schedule, conditional on the schedule as it was read.
#[derive(Debug, Clone)]
pub struct ScheduleStep {
    /// The owner.
    pub org: OrgId,
    /// The schedule as it was read.
    pub read: CurrentSchedule,
    /// The schedule afterwards, without the work order that the step creates.
    pub new: Schedule,
    /// Times that were missed before.
    pub missed: Option<MissedTimes>,
    /// The time that fires.
    pub time: Option<Timestamp>,
    /// The firing, of a step that creates no work order.
    pub firing: Option<Firing>,
    /// When the step is made.
    pub now: Timestamp,
}

/// The error of a create whose schedule is no longer as it was read.
pub(crate) fn schedule_changed() -> Error {
    Error::Conflict("the schedule has changed meanwhile: try again".to_owned())
}

impl ScheduleStep {
    /// The cause of the work order that the step creates.
    #[must_use]
    pub fn origin(&self) -> Option<Origin> {
        self.time.map(|time| Origin {
            kind: OriginKind::Schedule,
            schedule_id: Some(self.new.id.clone()),
            scheduled_for: Some(time),
            trigger_id: None,
            delivery_id: None,
            actor: None,
            subject: None,
            url: None,
        })
    }

    /// The step with the work order that it creates.
    pub(crate) fn created(&self, order: &WorkOrderId) -> ScheduleStep {
        ScheduleStep {
            new: self.new.clone().fired(order.clone(), self.now),
            firing: (self.time).map(|time| Firing::created(time, order.clone(), self.now)),
            ..self.clone()
        }
    }

    /// The reason for which the step pauses the schedule, if it does.
    fn pauses(&self) -> Option<PauseReason> {
        let was_paused = self.read.schedule.paused.is_some();
        self.new.paused.filter(|_| !was_paused)
    }

    fn events(&self) -> Vec<Alert> {
        let (schedule_id, name) = (&self.new.id, &self.new.content.name);
        let missed = self.missed.map(|missed| Alert {
            kind: EventType::ScheduleMissed,
            data: json!(ScheduleMissedData {
                schedule_id: schedule_id.clone(),
                name: name.clone(),
                count: missed.count,
                from: missed.from,
                to: missed.to,
            }),
        });
        let paused = self.pauses().map(|reason| Alert {
            kind: EventType::SchedulePaused,
            data: json!(SchedulePausedData {
                schedule_id: schedule_id.clone(),
                name: name.clone(),
                reason,
                consecutive_failures: self.new.consecutive_failures,
            }),
        });
        missed.into_iter().chain(paused).collect()
    }

    fn log(&self) {
        let (org, schedule) = (&self.org, &self.new.id);
        if let Some(missed) = self.missed {
            tracing::warn!(event = "schedule_missed", %org, %schedule, count = missed.count, "times of a schedule were missed");
        }
        if let Some(reason) = self.pauses() {
            let reason = reason.as_str();
            tracing::info!(event = "schedule_paused", %org, %schedule, reason, "a schedule paused");
        }
    }
}

impl Store {
    /// Makes a step that creates no work order; false if the schedule has changed meanwhile.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn step_schedule(&self, step: &ScheduleStep) -> Result<bool, Error> {
        let committed = Transaction::new().schedule_step(step)?.commit(self).await?;
        if committed.is_yes() {
            step.log();
        }
        Ok(committed.is_yes())
    }
}

impl Transaction {
    /// Makes a step of a schedule.
    pub(crate) fn schedule_step(self, step: &ScheduleStep) -> Result<Transaction, Error> {
        let (org, now) = (&step.org, step.now);
        let mut transaction = self.replace_schedule(org, &step.read, &step.new)?;
        let missed = step.missed.map(Firing::missed);
        for firing in missed.iter().chain(&step.firing) {
            transaction = transaction.firing(org, &step.new.id, firing)?;
        }
        for event in step.events() {
            let parts = [step.new.id.as_str(), event.kind.as_str()];
            let id = event_id_of(&parts, now);
            transaction = transaction.event(OutboxEvent::of_alert(org, id, &event, now)?);
        }
        Ok(transaction)
    }
}
