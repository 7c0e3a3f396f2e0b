//! The event of triggers: of an organization, and of no run.

use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{PAUSE_AFTER, TriggerPauseReason};
use crate::TriggerId;
use crate::schema::TypeSchema;
use crate::webhook::OrganizationEvent;

/// A trigger does nothing until it is written again.
pub const TRIGGER_PAUSED: OrganizationEvent = OrganizationEvent {
    name: "trigger.paused",
    description: "A trigger paused, after refused creates in a row or because the key that last wrote it was revoked.",
    data: TypeSchema::of::<TriggerPausedData>(),
    sample: |now| {
        json!(TriggerPausedData {
            trigger_id: TriggerId::new(now, 1),
            name: "Label agent".to_owned(),
            reason: TriggerPauseReason::Refusals,
            consecutive_refusals: PAUSE_AFTER,
        })
    },
};

/// Data of `trigger.paused`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerPausedData {
    /// The trigger.
    pub trigger_id: TriggerId,
    /// The name of the trigger.
    pub name: String,
    /// The cause.
    pub reason: TriggerPauseReason,
    /// Number of refused creates in a row.
    pub consecutive_refusals: u32,
}
