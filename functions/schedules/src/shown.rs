//! A schedule as it is answered, with its next times.

use awo_contract::schedules::output::ScheduleShape;
use awo_domain::schedule::{SHOWN_TIMES, Schedule};
use awo_domain::{Error, Timestamp};
use awo_schedules::plan::times_after;

/// The schedule with the next times at which it fires: none while it is paused or disabled.
pub(crate) fn shown(schedule: &Schedule, now: Timestamp) -> Result<ScheduleShape<'_>, Error> {
    let times = times_after(&schedule.content, now);
    let next = times
        .take(SHOWN_TIMES)
        .filter(|_| schedule.paused.is_none());
    ScheduleShape::of(schedule, next.collect())
}
