//! A step of a trigger: its new state, with the work order and the event that belong to it.

use awo_domain::schedule::Origin;
use awo_domain::trigger::subject::SubjectState;
use awo_domain::trigger::{ORDERS_KEPT_MS, Trigger, TriggerPauseReason, TriggerPausedData};
use awo_domain::webhook::EventType;
use awo_domain::webhook::identity::event_id_of;
use awo_domain::{Error, InboxDeliveryId, OrgId, Timestamp, TriggerId, WorkOrderId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::CurrentTrigger;
use super::subjects::CurrentSubject;
use crate::Store;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::ledger::budgets::Alert;
use crate::webhooks::outbox::OutboxEvent;

/// The work order of a trigger and a delivery, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TriggerOrderItem {
    work_order_id: WorkOrderId,
    /// Unix seconds after which DynamoDB may remove it.
    ttl: i64,
    v: u32,
}

/// The creation of a work order by a trigger.
#[derive(Debug, Clone)]
pub struct TriggerCreation {
    /// The delivery, of which the trigger has no work order yet.
    pub delivery: InboxDeliveryId,
    /// The cause of the work order.
    pub origin: Origin,
    /// The subject as it was read, if the event has one, with the state without the work order.
    pub subject: Option<(CurrentSubject, SubjectState)>,
}

/// A step of a trigger, conditional on the trigger as it was read.
#[derive(Debug, Clone)]
pub struct TriggerStep {
    /// The owner.
    pub org: OrgId,
    /// The trigger as it was read.
    pub read: CurrentTrigger,
    /// The trigger afterwards.
    pub new: Trigger,
    /// The creation of a work order; none if the step only changes the trigger.
    pub creation: Option<TriggerCreation>,
    /// Time of the step.
    pub now: Timestamp,
}

/// The error of a create whose trigger or subject is no longer as it was read.
pub(crate) fn trigger_changed() -> Error {
    Error::Conflict("the trigger has changed meanwhile: try again".to_owned())
}

impl TriggerStep {
    /// The reason for which the step pauses the trigger, if it does.
    fn pauses(&self) -> Option<TriggerPauseReason> {
        let was_paused = self.read.trigger.paused.is_some();
        self.new.paused.filter(|_| !was_paused)
    }
}

impl Store {
    /// Makes a step that creates no work order; false if the trigger has changed meanwhile.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn step_trigger(&self, step: &TriggerStep) -> Result<bool, Error> {
        let transaction = Transaction::new().trigger_step(step, None)?;
        let is_made = transaction.commit(self).await?.is_yes();
        if let Some(reason) = step.pauses().filter(|_| is_made) {
            let (org, trigger, reason) = (&step.org, &step.new.id, reason.as_str());
            tracing::info!(event = "trigger_paused", %org, %trigger, reason, "a trigger paused");
        }
        Ok(is_made)
    }

    /// The work order that a trigger has created of a delivery.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn trigger_order(
        &self,
        org: &OrgId,
        trigger: &TriggerId,
        delivery: &InboxDeliveryId,
    ) -> Result<Option<WorkOrderId>, Error> {
        let key = Key::trigger_order(org, trigger, delivery);
        let item: Option<TriggerOrderItem> = self.get(&key).await?;
        Ok(item.map(|item| item.work_order_id))
    }
}

impl Transaction {
    /// Makes a step of a trigger, with the work order that it creates and the first one of its thread.
    pub(crate) fn trigger_step(
        self,
        step: &TriggerStep,
        order: Option<(&WorkOrderId, &WorkOrderId)>,
    ) -> Result<Transaction, Error> {
        let (org, now) = (&step.org, step.now);
        let mut transaction = self.replace_trigger(org, &step.read, &step.new)?;
        if let Some(((id, thread), creation)) = order.zip(step.creation.as_ref()) {
            let item = TriggerOrderItem {
                work_order_id: id.clone(),
                ttl: now.plus_ms(ORDERS_KEPT_MS).epoch_seconds(),
                v: SCHEMA_VERSION,
            };
            let key = Key::trigger_order(org, &step.new.id, &creation.delivery);
            transaction = transaction.put(&key, &item)?;
            if let Some((read, state)) = &creation.subject {
                let state = state.clone().attempted(Some(thread.clone()));
                transaction = transaction.replace_subject(org, read, &state, now)?;
            }
        }
        let Some(reason) = step.pauses() else {
            return Ok(transaction);
        };
        let event = Alert {
            kind: EventType::TriggerPaused,
            data: json!(TriggerPausedData {
                trigger_id: step.new.id.clone(),
                name: step.new.content.name.clone(),
                reason,
                consecutive_refusals: step.new.consecutive_refusals,
            }),
        };
        let id = event_id_of(&[step.new.id.as_str(), event.kind.as_str()], now);
        Ok(transaction.event(OutboxEvent::of_alert(org, id, &event, now)?))
    }
}
