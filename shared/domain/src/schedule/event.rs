//! The events of schedules: of an organization, and of no run.

use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::PauseReason;
use crate::schema::TypeSchema;
use crate::webhook::OrganizationEvent;
use crate::{ScheduleId, Timestamp};

/// A schedule does not fire until it is resumed.
pub const SCHEDULE_PAUSED: OrganizationEvent = OrganizationEvent {
    name: "schedule.paused",
    description: "A schedule paused, after failures in a row or because the key that last wrote it was revoked.",
    data: TypeSchema::of::<SchedulePausedData>(),
    sample: |now| {
        json!(SchedulePausedData {
            schedule_id: ScheduleId::new(now, 1),
            name: "Nightly".to_owned(),
            reason: PauseReason::Failures,
            consecutive_failures: 3,
        })
    },
};

/// Times of a schedule were missed.
pub const SCHEDULE_MISSED: OrganizationEvent = OrganizationEvent {
    name: "schedule.missed",
    description: "Times of a schedule were missed, once for each outage.",
    data: TypeSchema::of::<ScheduleMissedData>(),
    sample: |now| {
        json!(ScheduleMissedData {
            schedule_id: ScheduleId::new(now, 1),
            name: "Nightly".to_owned(),
            count: 2,
            from: now.plus_ms(-7_200_000),
            to: now.plus_ms(-3_600_000),
        })
    },
};

/// Data of `schedule.paused`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulePausedData {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// Its name.
    pub name: String,
    /// The cause.
    pub reason: PauseReason,
    /// Number of failures in a row.
    pub consecutive_failures: u32,
}

/// Data of `schedule.missed`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleMissedData {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// Its name.
    pub name: String,
    /// Number of times.
    #[schema(minimum = 1)]
    pub count: u32,
    /// The first one.
    pub from: Timestamp,
    /// The last one.
    pub to: Timestamp,
}
