//! Schedules and their firings as the API shows them.

use awo_domain::schedule::{CatchUp, Firing, FiringResult, Overlap, PauseReason, Schedule};
use awo_domain::{Error, ScheduleId, Timestamp, WorkOrderId};
use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

/// A schedule.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleShape<'a> {
    /// Its id.
    id: &'a ScheduleId,
    /// Its name, for people.
    name: &'a str,
    /// The cron expression.
    cron: &'a str,
    /// The time zone on whose clock it is read.
    timezone: &'a str,
    /// The body of the create of its work orders.
    #[schema(value_type = Object)]
    work_order: Json,
    /// The treatment of times at which an earlier work order is not terminal.
    overlap: Overlap,
    /// The treatment of missed times.
    catch_up: CatchUp,
    /// Failures in a row after which it pauses.
    pause_after_failures: u32,
    /// The time before which it does not fire.
    #[serde(skip_serializing_if = "Option::is_none")]
    starts_at: Option<Timestamp>,
    /// The time after which it does not fire.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at: Option<Timestamp>,
    /// False if it fires only by request.
    enabled: bool,
    /// The next five times; none while it is paused or disabled.
    next: Vec<Timestamp>,
    /// When it created a work order last.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_fired_at: Option<Timestamp>,
    /// Number of work orders that failed or were refused since the last success.
    consecutive_failures: u32,
    /// The cause for which it does not fire until it is resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_reason: Option<PauseReason>,
    /// The id of the key that last wrote or resumed it.
    created_by: &'a str,
    /// When it was created.
    created_at: Timestamp,
    /// When it was changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
}

impl<'a> ScheduleShape<'a> {
    /// A schedule with its next times.
    ///
    /// # Errors
    /// Internal, if the stored body does not read.
    pub fn of(schedule: &'a Schedule, next: Vec<Timestamp>) -> Result<ScheduleShape<'a>, Error> {
        let content = &schedule.content;
        let work_order = serde_json::from_str(&content.work_order);
        Ok(ScheduleShape {
            id: &schedule.id,
            name: &content.name,
            cron: &content.cron,
            timezone: &content.timezone,
            work_order: work_order.map_err(Error::internal)?,
            overlap: content.overlap,
            catch_up: content.catch_up,
            pause_after_failures: content.pause_after_failures,
            starts_at: content.starts_at,
            ends_at: content.ends_at,
            enabled: content.enabled,
            next,
            last_fired_at: schedule.last_fired_at,
            consecutive_failures: schedule.consecutive_failures,
            paused_reason: schedule.paused,
            created_by: schedule.created_by.as_str(),
            created_at: schedule.created_at,
            updated_at: schedule.updated_at,
        })
    }
}

/// A firing of a schedule, or the times that one outage made it miss.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ScheduleFiring)]
pub struct FiringShape<'a> {
    /// Its time; of missed times the first.
    scheduled_for: Timestamp,
    /// When the service came to it; absent for missed times.
    #[serde(skip_serializing_if = "Option::is_none")]
    fired_at: Option<Timestamp>,
    /// Its result.
    result: FiringResult,
    /// The cause of a result other than a work order: `overlap`, `suspended`, `key_revoked`, `credits`,
    /// `budget`, `queue_full` or `invalid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// The work order that it created.
    #[serde(skip_serializing_if = "Option::is_none")]
    work_order_id: Option<&'a WorkOrderId>,
    /// Number of missed times.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    /// The first missed time.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Timestamp>,
    /// The last missed time.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Timestamp>,
}

impl<'a> From<&'a Firing> for FiringShape<'a> {
    fn from(firing: &'a Firing) -> FiringShape<'a> {
        FiringShape {
            scheduled_for: firing.scheduled_for,
            fired_at: firing.fired_at,
            result: firing.result,
            reason: firing.reason.as_deref(),
            work_order_id: firing.work_order_id.as_ref(),
            count: firing.missed.map(|missed| missed.count),
            from: firing.missed.map(|missed| missed.from),
            to: firing.missed.map(|missed| missed.to),
        }
    }
}
