//! Timetables: the grammar of expressions, and the changes of offset of real time zones.

use awo_domain::Timestamp;
use awo_schedules::{Timetable, TimetableFault};
use proptest::prelude::*;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// First firings of an expression after a moment.
fn firings(cron: &str, timezone: &str, after: &str, count: usize) -> Vec<String> {
    let timetable = Timetable::read(cron, timezone).unwrap();
    let firings = timetable.firings_after(at(after)).take(count);
    firings.map(|firing| firing.to_string()).collect()
}

fn is_refused(cron: &str) -> bool {
    matches!(Timetable::read(cron, "UTC"), Err(TimetableFault::Cron(_)))
}

#[test]
fn five_fields_of_numbers_names_lists_ranges_and_steps_are_an_expression() {
    for cron in [
        "0 9 * * 1-5",
        "*/15 8-18 * * MON-FRI",
        "0 0 1,15 jan-mar *",
        "5,35 * * * *",
        "0 12 * * 7",
        "0 12 * * sat-sun",
        "0 0 29 2 *",
        "0-59/10 */2 1-31/2 */3 0",
        "58,8 1,3 * * *",
        "58,1 0,23 1 * *",
    ] {
        assert!(Timetable::read(cron, "UTC").is_ok(), "{cron}");
    }
}

#[test]
fn everything_else_is_refused() {
    for cron in [
        "",
        "@daily",
        "* * * *",
        "0 0 9 * * 1",
        "0 9 * * 1 2026",
        "0 9 L * *",
        "0 9 15W * *",
        "0 9 * * 5#2",
        "0 9 ? * *",
        "60 9 * * *",
        "0 24 * * *",
        "0 9 0 * *",
        "0 9 32 * *",
        "0 9 * 13 *",
        "0 9 * * 8",
        "0 9 * * MONTUE",
        "0 9 * JANFEB *",
        "0 JAN * * *",
        "5/10 9 * * *",
        "/10 9 * * *",
        "*/0 9 * * *",
        "9-5 9 * * *",
        "0 9 * * FRI-MON",
        "+1 9 * * *",
        "-1 9 * * *",
        "0 9 * * +1",
        "0 9,, * * *",
        "0,9, 1 * * *",
        "０ 9 * * *",
        "001 9 * * *",
    ] {
        assert!(is_refused(cron), "{cron:?}");
    }
    assert!(is_refused(&format!("{} 9 * * *", "0,".repeat(400))));
}

#[test]
fn a_date_that_never_comes_is_refused() {
    for cron in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30,31 2 *"] {
        assert!(is_refused(cron), "{cron}");
    }
    // Either day counts where both are given.
    assert!(Timetable::read("0 0 30 2 1", "UTC").is_ok());
}

#[test]
fn firings_less_than_five_minutes_apart_are_refused() {
    for cron in [
        "* * * * *",
        "*/4 * * * *",
        "0,4 9 * * *",
        "58,2 * * * *",
        "58,2 9,10 * * *",
        "58,2 0,23 * * *",
        "58,2 0,23 * * 1,2",
        "59,0 23,0 28-31,1 * *",
    ] {
        assert!(is_refused(cron), "{cron}");
    }
    for cron in [
        "*/5 * * * *",
        "58,3 * * * *",
        "58,2 9,11 * * *",
        "58,2 0,23 * * 1,3",
    ] {
        assert!(Timetable::read(cron, "UTC").is_ok(), "{cron}");
    }
}

#[test]
fn a_time_zone_has_a_name_of_the_iana_database() {
    for timezone in [
        "UTC",
        "Europe/Berlin",
        "Australia/Lord_Howe",
        "America/Santiago",
    ] {
        assert!(Timetable::read("0 9 * * *", timezone).is_ok(), "{timezone}");
    }
    for timezone in [
        "",
        "Berlin",
        "europe/berlin",
        "UTC+1",
        "+01:00",
        "Etc/Unknown",
        "../UTC",
    ] {
        let refused = Timetable::read("0 9 * * *", timezone);
        assert!(
            matches!(refused, Err(TimetableFault::Timezone(_))),
            "{timezone}"
        );
    }
}

#[test]
fn a_skipped_time_fires_once_at_the_first_moment_after_the_gap() {
    // Berlin, 2026-03-29: 02:00 to 03:00 does not exist.
    assert_eq!(
        firings("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
        ["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]
    );
    assert_eq!(
        firings(
            "0,20,40 2 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00:00Z",
            2
        ),
        ["2026-03-29T01:00:00.000Z", "2026-03-30T00:00:00.000Z"]
    );
    // Lord Howe, 2026-10-04: 02:00 to 02:30 does not exist.
    assert_eq!(
        firings(
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-03T12:00:00Z",
            2
        ),
        ["2026-10-03T15:30:00.000Z", "2026-10-04T15:15:00.000Z"]
    );
    // Santiago, 2026-09-06: the day begins at 01:00.
    assert_eq!(
        firings("0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", 2),
        ["2026-09-06T04:00:00.000Z", "2026-09-07T03:00:00.000Z"]
    );
}

#[test]
fn a_time_that_occurs_twice_fires_at_the_first() {
    // Berlin, 2026-10-25: 02:00 to 03:00 occurs twice.
    assert_eq!(
        firings("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
        ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"]
    );
    // Between the two, the second one is not another firing.
    assert_eq!(
        firings("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", 1),
        ["2026-10-26T01:30:00.000Z"]
    );
    // Santiago, 2026-04-05: 23:00 to 24:00 of the 4th occurs twice.
    assert_eq!(
        firings("30 23 * * *", "America/Santiago", "2026-04-04T12:00:00Z", 2),
        ["2026-04-05T02:30:00.000Z", "2026-04-06T03:30:00.000Z"]
    );
}

#[test]
fn an_hour_field_that_begins_with_a_star_counts_each_real_hour() {
    assert_eq!(
        firings("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", 4),
        [
            "2026-10-25T00:00:00.000Z",
            "2026-10-25T01:00:00.000Z",
            "2026-10-25T02:00:00.000Z",
            "2026-10-25T03:00:00.000Z"
        ]
    );
    assert_eq!(
        firings("30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 2),
        ["2026-03-29T00:30:00.000Z", "2026-03-29T01:30:00.000Z"]
    );
}

/// Expressions as people write them, with zones that change their offset.
fn schedules() -> impl Strategy<Value = (String, &'static str)> {
    let minute = prop::sample::select(vec!["0", "7", "30", "*/5", "*/20", "5,35", "10-50/10"]);
    let hour = prop::sample::select(vec!["*", "*/2", "0", "1", "2", "3", "0-6", "1,2,23", "2-3"]);
    let day = prop::sample::select(vec!["*", "1", "29", "31", "*/3", "25-31"]);
    let month = prop::sample::select(vec!["*", "3", "10", "MAR-APR", "*/2"]);
    let weekday = prop::sample::select(vec!["*", "0", "SUN", "1-5", "6,7"]);
    let zone = prop::sample::select(vec![
        "UTC",
        "Europe/Berlin",
        "America/Santiago",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "Asia/Kathmandu",
        "America/St_Johns",
    ]);
    (minute, hour, day, month, weekday, zone).prop_map(
        |(minute, hour, day, month, weekday, zone)| {
            (format!("{minute} {hour} {day} {month} {weekday}"), zone)
        },
    )
}

proptest! {
    /// A sweep at any moment finds the firings that a sweep before it announced.
    #[test]
    fn the_next_firing_does_not_depend_on_when_it_is_asked_for(
        (cron, timezone) in schedules(),
        start in 1_700_000_000_i64..1_900_000_000,
        share in 0.0_f64..1.0,
    ) {
        let timetable = Timetable::read(&cron, timezone).unwrap();
        let start = Timestamp::from_epoch_ms(start * 1_000);
        let next: Vec<Timestamp> = timetable.firings_after(start).take(2).collect();
        let (first, second) = (next[0], next[1]);
        prop_assert!(start < first && first < second);
        prop_assert_eq!(first.epoch_ms() % 60_000, 0);
        let between = start.plus_ms((first.ms_since(start) as f64 * share) as i64).min(first.plus_ms(-1));
        prop_assert_eq!(timetable.next_after(between), Some(first));
        prop_assert_eq!(timetable.next_after(first), Some(second));
    }
}

/// Lines of `make test-schedules` on which croniter and cron-parser agreed with this crate.
const AGREED: &str = include_str!("agreed.tsv");

#[test]
fn times_are_those_that_two_other_readers_of_cron_have() {
    let mut number = 0;
    for line in AGREED.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [cron, timezone, after, expected @ ..] = columns.as_slice() else {
            panic!("{line}");
        };
        let found = firings(cron, timezone, after, expected.len());
        assert_eq!(found, expected, "{cron} {timezone} {after}");
        number += 1;
    }
    assert_eq!(number, 400);
}
