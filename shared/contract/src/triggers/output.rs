//! Triggers and their evaluations as the API shows them.

use awo_domain::inbox::delivery::TriggerResultKind;
use awo_domain::trigger::{
    OnForeign, Trigger, TriggerAction, TriggerActors, TriggerEvent, TriggerFilter, TriggerLimits,
    TriggerPauseReason,
};
use awo_domain::{Error, InboxId, Timestamp, TriggerId};
use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

/// A trigger.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerShape<'a> {
    /// The id.
    id: &'a TriggerId,
    /// The name, for people.
    name: &'a str,
    /// The inbox whose deliveries it judges.
    inbox_id: &'a InboxId,
    /// The events.
    events: &'a [TriggerEvent],
    /// Patterns of repositories: `host/owner/name`.
    repositories: &'a [String],
    /// Conditions on an event, all of which must hold.
    #[schema(inline = false)]
    filter: &'a TriggerFilter,
    /// Actors whose events count.
    #[schema(inline = false)]
    who: &'a TriggerActors,
    /// The action.
    action: TriggerAction,
    /// The treatment of a pull request that no thread owns; only of a trigger that follows up.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_foreign: Option<OnForeign>,
    /// The body of the create of its work orders, or of its follow-ups.
    #[schema(value_type = Object)]
    work_order: Json,
    /// Seconds for which deliveries about one subject are gathered.
    settle_seconds: u32,
    /// Bounds of its work orders.
    #[schema(inline = false)]
    limits: TriggerLimits,
    /// False if it does nothing.
    enabled: bool,
    /// Time of the last work order.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_fired_at: Option<Timestamp>,
    /// Number of creates that were refused since the last one that was not.
    consecutive_refusals: u32,
    /// The cause for which it does nothing until it is written again.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_reason: Option<TriggerPauseReason>,
    /// The id of the key that last wrote it.
    created_by: &'a str,
    /// Time of the creation.
    created_at: Timestamp,
    /// Time of the last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
}

impl<'a> TriggerShape<'a> {
    /// A trigger.
    ///
    /// # Errors
    /// Internal, if the stored body does not read.
    pub fn of(trigger: &'a Trigger) -> Result<TriggerShape<'a>, Error> {
        let content = &trigger.content;
        let work_order = serde_json::from_str(&content.work_order);
        let follows_up = content.action == TriggerAction::FollowUp;
        Ok(TriggerShape {
            id: &trigger.id,
            name: &content.name,
            inbox_id: &content.inbox_id,
            events: &content.events,
            repositories: &content.repositories,
            filter: &content.filter,
            who: &content.who,
            action: content.action,
            on_foreign: follows_up.then_some(content.on_foreign),
            work_order: work_order.map_err(Error::internal)?,
            settle_seconds: content.settle_seconds,
            limits: content.limits,
            enabled: content.enabled,
            last_fired_at: trigger.last_fired_at,
            consecutive_refusals: trigger.consecutive_refusals,
            paused_reason: trigger.paused,
            created_by: trigger.created_by.as_str(),
            created_at: trigger.created_at,
            updated_at: trigger.updated_at,
        })
    }
}

/// The forge's part in a judgement of the actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskedPermission {
    /// No question to the forge.
    NotAsked,
}

/// The judgement of a delivery that was not received: nothing was written.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TriggerEvaluation)]
pub struct EvaluationShape {
    /// The result of such a delivery, if the actor has the permission.
    pub result: TriggerResultKind,
    /// The cause of a result other than a work order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The forge's part in the judgement of the actor.
    pub permission: AskedPermission,
    /// The events that the delivery is.
    pub events: Vec<TriggerEvent>,
    /// The issue, pull request or branch that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The account that caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The body of the create, with the values of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub work_order: Option<Json>,
}
