//! Schedules: work orders that the service creates at times of a timetable. A schedule stands between its
//! firings; each firing is one change of it.

mod event;
mod state;

pub use event::{SCHEDULE_MISSED, SCHEDULE_PAUSED, ScheduleMissedData, SchedulePausedData};
pub use state::{MissedTimes, OrderStanding};

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::api_key::KeyId;
use crate::{InboxDeliveryId, ScheduleId, Timestamp, TriggerId, WorkOrderId};

/// Most schedules of an organization.
pub const MAX_SCHEDULES: u32 = 100;
/// Longest name of a schedule, in characters.
pub const MAX_NAME: usize = 100;
/// Longest text of a cron expression or of a time zone, in characters.
pub const MAX_TIMETABLE_TEXT: usize = 512;
/// Most failures in a row after which a schedule pauses.
pub const MAX_PAUSE_AFTER: u32 = 20;
/// Failures in a row after which a schedule pauses, where a client names none.
pub const USUAL_PAUSE_AFTER: u32 = 3;
/// Most work orders of a schedule that are not terminal.
pub const MAX_OPEN_ORDERS: usize = 20;
/// Number of next times that an answer shows.
pub const SHOWN_TIMES: usize = 5;
/// Age up to which a time fires as on time, in milliseconds.
pub const ON_TIME_MS: i64 = 120_000;
/// Age up to which the last missed time is caught up with, in milliseconds.
pub const CATCH_UP_MS: i64 = 3_600_000;
/// Time for which firings are listed, in milliseconds.
pub const FIRINGS_KEPT_MS: i64 = 90 * 24 * 3_600_000;

/// The treatment of a time at which an earlier work order of the schedule is not terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Overlap {
    /// Nothing is created.
    Skip,
    /// A work order is created, unless one waits already.
    Queue,
}

/// The treatment of times that were missed in an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum CatchUp {
    /// The last one fires late, if it is less than an hour old.
    Latest,
    /// None fires.
    None,
}

/// The result of a firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum FiringResult {
    /// A work order was created.
    Created,
    /// An earlier work order is not terminal.
    Skipped,
    /// The service was not there in time.
    Missed,
    /// The create was refused.
    Refused,
}

/// The cause for which a schedule does not fire until it is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum PauseReason {
    /// Work orders that failed or were refused, in a row.
    Failures,
    /// The key that last wrote the schedule was revoked.
    KeyRevoked,
}

/// The kind of what created a work order, if no client did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = WorkOrderOriginKind)]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum OriginKind {
    /// A firing of a schedule.
    Schedule,
    /// A delivery that a trigger judged.
    Trigger,
}

/// The cause of a work order that no client created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WorkOrderOrigin)]
pub struct Origin {
    /// Its kind.
    pub kind: OriginKind,
    /// The schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_id: Option<ScheduleId>,
    /// The time of the schedule, or of the request to fire it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<Timestamp>,
    /// The trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_id: Option<TriggerId>,
    /// The delivery that the trigger judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_id: Option<InboxDeliveryId>,
    /// The login of the actor of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The subject of the event, such as `acme/app#7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The address of the subject's page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The fields of a schedule that a client sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleContent {
    /// Its name.
    pub name: String,
    /// The cron expression.
    pub cron: String,
    /// The IANA name of the time zone on whose clock the expression is read.
    pub timezone: String,
    /// The body of a create of a work order, as JSON.
    pub work_order: String,
    /// The treatment of times at which an earlier work order is not terminal.
    pub overlap: Overlap,
    /// The treatment of missed times.
    pub catch_up: CatchUp,
    /// Failures in a row after which it pauses.
    pub pause_after_failures: u32,
    /// The time before which it does not fire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Timestamp>,
    /// The time after which it does not fire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// False if it fires only by request.
    pub enabled: bool,
}

impl ScheduleContent {
    /// True if it fires at the same times as another one.
    #[must_use]
    pub fn is_timed_as(&self, other: &ScheduleContent) -> bool {
        let times = |content: &ScheduleContent| {
            let ScheduleContent { cron, timezone, .. } = content.clone();
            (
                cron,
                timezone,
                content.starts_at,
                content.ends_at,
                content.enabled,
            )
        };
        times(self) == times(other)
    }
}

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// Its id.
    pub id: ScheduleId,
    /// The fields that a client sets.
    pub content: ScheduleContent,
    /// The key that last wrote or resumed it: its work orders count in the budgets of that key.
    pub created_by: KeyId,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was changed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// The next time at which it fires; absent while it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
    /// When it created a work order last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_fired_at: Option<Timestamp>,
    /// Number of work orders that failed or were refused since the last success.
    pub consecutive_failures: u32,
    /// The cause for which it does not fire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<PauseReason>,
    /// Its work orders that were not terminal when it was last looked at.
    #[serde(default)]
    pub open: Vec<WorkOrderId>,
}

/// A firing, or the times that one outage made it miss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Firing {
    /// Its time; of missed ones the first.
    pub scheduled_for: Timestamp,
    /// When the service came to it; absent for missed ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fired_at: Option<Timestamp>,
    /// Its result.
    pub result: FiringResult,
    /// The cause of a result other than a work order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The work order that it created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_order_id: Option<WorkOrderId>,
    /// The missed times.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub missed: Option<MissedTimes>,
}

#[cfg(test)]
mod tests;
