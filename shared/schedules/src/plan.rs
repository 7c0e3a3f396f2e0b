//! The times of a schedule: which come next, and what an elapsed one asks for.

use awo_domain::Timestamp;
use awo_domain::schedule::{
    CATCH_UP_MS, CatchUp, MissedTimes, ON_TIME_MS, Schedule, ScheduleContent,
};

use crate::timetable::Timetable;

/// Most times of an outage that are counted: those of 90 days, each five minutes.
const MAX_COUNTED: usize = 90 * 24 * 12;

/// The meaning of times that have come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElapsedTimes {
    /// The time that fires now.
    pub fires: Option<Timestamp>,
    /// The times that do not.
    pub missed: Option<MissedTimes>,
    /// The next time.
    pub next: Option<Timestamp>,
}

/// The times after a moment at which a schedule of this content fires, in order. A content whose timetable
/// does not read, which a newer time zone database may do, has none.
pub fn times_after(
    content: &ScheduleContent,
    after: Timestamp,
) -> impl Iterator<Item = Timestamp> + use<> {
    let starts = content.starts_at.map(|start| start.plus_ms(-1));
    let first = after.max(starts.unwrap_or(after));
    let ends_at = content.ends_at;
    let timetable = Timetable::read(&content.cron, &content.timezone).ok();
    let timetable = timetable.filter(|_| content.enabled);
    let next = move |after: Timestamp| timetable.as_ref()?.next_after(after);
    std::iter::successors(next(first), move |time| next(*time))
        .take_while(move |time| ends_at.is_none_or(|end| *time <= end))
}

/// The times that have come, and what is to be done about them; none if the next one is still to come.
#[must_use]
pub fn elapsed(schedule: &Schedule, now: Timestamp) -> Option<ElapsedTimes> {
    let content = &schedule.content;
    let due = schedule.next_at.filter(|next| *next <= now)?;
    let recent = due.max(now.plus_ms(-CATCH_UP_MS)).plus_ms(-1);
    let last = times_after(content, recent)
        .take_while(|time| *time <= now)
        .last();
    let last = last.or((due > recent).then_some(due));
    let latest_age = match content.catch_up {
        CatchUp::Latest => CATCH_UP_MS,
        CatchUp::None => ON_TIME_MS,
    };
    let fires = last.filter(|time| now.ms_since(*time) <= latest_age.max(ON_TIME_MS));
    let before = due.plus_ms(-1);
    let (mut count, mut to) = (0, due);
    let all = times_after(content, before).take_while(|time| *time <= now);
    for time in all.take(MAX_COUNTED).filter(|time| Some(*time) != fires) {
        (count, to) = (count + 1, time);
    }
    Some(ElapsedTimes {
        fires,
        missed: (count > 0).then_some(MissedTimes {
            count,
            from: due,
            to,
        }),
        next: times_after(content, now).next(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use awo_domain::ScheduleId;
    use awo_domain::api_key::KeyId;
    use awo_domain::schedule::Overlap;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn schedule(catch_up: CatchUp, next_at: &str) -> Schedule {
        let now = at("2026-01-01T00:00:00.000Z");
        Schedule {
            id: ScheduleId::new(now, 1),
            content: ScheduleContent {
                name: "Half-hourly".to_owned(),
                cron: "*/30 * * * *".to_owned(),
                timezone: "UTC".to_owned(),
                work_order: "{}".to_owned(),
                overlap: Overlap::Skip,
                catch_up,
                pause_after_failures: 3,
                starts_at: None,
                ends_at: None,
                enabled: true,
            },
            created_by: KeyId::parse("abcdefABC123").unwrap(),
            created_at: now,
            updated_at: None,
            next_at: Some(at(next_at)),
            last_fired_at: None,
            consecutive_failures: 0,
            paused: None,
            open: Vec::new(),
        }
    }

    #[test]
    fn an_outage_fires_its_last_time_at_most_and_the_others_are_missed_together() {
        use CatchUp::{Latest, None as Never};
        let ten = "2026-03-02T10:00:00.000Z";
        for (catch_up, now, fires, missed) in [
            (Latest, "2026-03-02T10:00:00.000Z", Some("10:00"), 0),
            (Never, "2026-03-02T10:02:00.000Z", Some("10:00"), 0),
            (Never, "2026-03-02T10:02:01.000Z", None, 1),
            (Latest, "2026-03-02T10:29:00.000Z", Some("10:00"), 0),
            (Latest, "2026-03-02T13:10:00.000Z", Some("13:00"), 6),
            (Never, "2026-03-02T13:10:00.000Z", None, 7),
            (Never, "2026-03-02T13:01:00.000Z", Some("13:00"), 6),
        ] {
            let elapsed = elapsed(&schedule(catch_up, ten), at(now)).unwrap();
            let fires = fires.map(|time| at(&format!("2026-03-02T{time}:00.000Z")));
            assert_eq!(elapsed.fires, fires, "{catch_up:?} {now}");
            assert_eq!(
                elapsed.missed.map_or(0, |times| times.count),
                missed,
                "{now}"
            );
            assert!(elapsed.next.unwrap() > at(now));
        }
        assert_eq!(
            elapsed(&schedule(Latest, ten), at("2026-03-02T09:59:59.999Z")),
            None
        );
    }

    #[test]
    fn the_last_time_of_an_outage_is_not_caught_up_with_after_an_hour() {
        let mut daily = schedule(CatchUp::Latest, "2026-03-02T10:00:00.000Z");
        daily.content.cron = "0 10 * * *".to_owned();
        let within = elapsed(&daily, at("2026-03-02T11:00:00.000Z")).unwrap();
        assert_eq!(within.fires, daily.next_at);
        let after = elapsed(&daily, at("2026-03-02T11:00:00.001Z")).unwrap();
        assert_eq!((after.fires, after.missed.unwrap().count), (None, 1));
    }

    #[test]
    fn nothing_fires_before_the_start_after_the_end_or_while_disabled() {
        let mut schedule = schedule(CatchUp::Latest, "2026-03-02T10:00:00.000Z");
        schedule.content.starts_at = Some(at("2026-03-02T12:00:00.000Z"));
        schedule.content.ends_at = Some(at("2026-03-02T13:00:00.000Z"));
        let after = at("2026-03-02T10:00:00.000Z");
        let times: Vec<String> = times_after(&schedule.content, after)
            .map(|time| time.to_string()[11..16].to_owned())
            .collect();
        assert_eq!(times, ["12:00", "12:30", "13:00"]);
        schedule.content.enabled = false;
        assert_eq!(times_after(&schedule.content, after).next(), None);
    }
}
