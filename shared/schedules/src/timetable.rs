//! Firings of an expression on the clock of a time zone.

use std::time::Duration;

use awo_domain::Timestamp;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::ToSpan;
use jiff::civil::{DateTime, date};
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::expression::{Expression, ExpressionFault};

/// Least time between two firings of an expression.
pub const LEAST_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// Years within which every date of the Gregorian calendar comes on every day of the week.
const CALENDAR_YEARS: std::ops::Range<i16> = 2000..2029;

/// Reason why a schedule has no timetable, and the member that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimetableFault {
    #[error("{0}")]
    Cron(#[from] ExpressionFault),
    #[error("{0:?} is not a time zone of the IANA database, such as Europe/Berlin or UTC")]
    Timezone(String),
}

/// Firings of a cron expression on the clock of a time zone.
#[derive(Debug, Clone)]
pub struct Timetable {
    cron: Cron,
    zone: TimeZone,
    every_hour: bool,
}

impl Timetable {
    /// Reads an expression and the IANA name of a time zone.
    ///
    /// # Errors
    /// [`TimetableFault`] for an expression with other than five fields, with characters beyond numbers,
    /// names, lists, ranges and steps, for a date that never comes, for firings less than five minutes
    /// apart, and for an unknown time zone.
    pub fn read(cron: &str, timezone: &str) -> Result<Timetable, TimetableFault> {
        let expression = Expression::read(cron)?;
        let cron = parsed(&expression.numeric)?;
        comes(&cron)?;
        is_rare_enough(&expression)?;
        let unknown = || TimetableFault::Timezone(timezone.chars().take(64).collect());
        let zone = TimeZone::get(timezone).map_err(|_| unknown())?;
        if zone.is_unknown() || zone.iana_name() != Some(timezone) {
            return Err(unknown());
        }
        Ok(Timetable {
            cron,
            zone,
            every_hour: expression.every_hour,
        })
    }

    /// The faults of an expression and of the name of a time zone, each judged by itself.
    #[must_use]
    pub fn faults(cron: &str, timezone: &str) -> Vec<TimetableFault> {
        let any_time = "0 0 * * *";
        [
            Timetable::read(cron, "UTC"),
            Timetable::read(any_time, timezone),
        ]
        .into_iter()
        .filter_map(Result::err)
        .collect()
    }

    /// The first firing after a moment, to the minute; none beyond the calendar's last year.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let after = jiff::Timestamp::from_millisecond(after.epoch_ms()).ok()?;
        let next = if self.every_hour {
            self.next_real(after)
        } else {
            self.next_local(after)
        };
        next.map(|next| Timestamp::from_epoch_ms(next.as_millisecond()))
    }

    /// The next firings after a moment, in order.
    pub fn firings_after(&self, after: Timestamp) -> impl Iterator<Item = Timestamp> + '_ {
        std::iter::successors(self.next_after(after), |firing| self.next_after(*firing))
    }

    /// The next local time of the expression, as an instant. Local times are in the order of their instants,
    /// so the first one with a later instant is the answer.
    fn next_local(&self, after: jiff::Timestamp) -> Option<jiff::Timestamp> {
        let mut local = self.zone.to_datetime(after);
        loop {
            local = self.cron.find_next_occurrence(&local, false).ok()?;
            let instant = self.instant(local)?;
            if instant > after {
                return Some(instant);
            }
        }
    }

    /// The instant at which a local time fires.
    fn instant(&self, local: DateTime) -> Option<jiff::Timestamp> {
        match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(local).ok(),
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(local).ok(),
            AmbiguousOffset::Gap { after, .. } => {
                // With the offset after the gap, a skipped time is an instant before the change.
                let before_change = after.to_timestamp(local).ok()?;
                let change = self.zone.following(before_change).next()?;
                Some(change.timestamp())
            }
        }
    }

    /// The next instant whose local time is one of the expression, in a repeated hour, too.
    fn next_real(&self, after: jiff::Timestamp) -> Option<jiff::Timestamp> {
        let (mut start, mut inclusive) = (after, false);
        loop {
            let offset = self.zone.to_offset(start);
            let local = offset.to_datetime(start);
            let local = self.cron.find_next_occurrence(&local, inclusive).ok()?;
            let instant = offset.to_timestamp(local).ok()?;
            let change = self.zone.following(start).next();
            match change.map(|change| change.timestamp()) {
                Some(change) if change <= instant => (start, inclusive) = (change, true),
                _ => return Some(instant),
            }
        }
    }
}

/// Reads what the grammar has let through: five fields.
fn parsed(numeric: &str) -> Result<Cron, ExpressionFault> {
    let parser = CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed);
    let parsed = parser.build().parse(numeric);
    parsed.map_err(|_| ExpressionFault::NeverComes)
}

/// Checks that a date of the expression comes at all.
fn comes(cron: &Cron) -> Result<(), ExpressionFault> {
    let start = date(CALENDAR_YEARS.start, 1, 1).at(0, 0, 0, 0);
    match cron.find_next_occurrence::<DateTime>(&start, true) {
        Ok(first) if first.year() < CALENDAR_YEARS.end => Ok(()),
        _ => Err(ExpressionFault::NeverComes),
    }
}

/// Checks that no two firings are within [`LEAST_INTERVAL`] on the clock.
fn is_rare_enough(expression: &Expression) -> Result<(), ExpressionFault> {
    let least = u8::try_from(LEAST_INTERVAL.as_secs() / 60).unwrap_or(u8::MAX);
    let is_near = |earlier: u8, later: u8| later - earlier < least;
    let minutes = &expression.minutes;
    if minutes.windows(2).any(|pair| is_near(pair[0], pair[1])) {
        return Err(ExpressionFault::TooOften);
    }
    let (Some(earliest), Some(latest)) = (minutes.first(), minutes.last()) else {
        return Err(ExpressionFault::NeverComes);
    };
    if !is_near(*latest, earliest + 60) {
        return Ok(());
    }
    // The last firing of an hour is too near to the first one of the next hour.
    let hours = &expression.hours;
    let is_next = |pair: &[u8]| pair[1] == pair[0] + 1;
    let spans_midnight = hours.first() == Some(&0) && hours.last() == Some(&23);
    if hours.windows(2).any(is_next) || (spans_midnight && has_adjacent_days(expression)?) {
        return Err(ExpressionFault::TooOften);
    }
    Ok(())
}

/// Whether a day of the expression follows another one.
fn has_adjacent_days(expression: &Expression) -> Result<bool, ExpressionFault> {
    let days = parsed(&expression.days)?;
    let mut day = date(CALENDAR_YEARS.start, 1, 1).at(0, 0, 0, 0);
    while let Ok(next) = days.find_next_occurrence::<DateTime>(&day, false) {
        if next.year() >= CALENDAR_YEARS.end {
            break;
        }
        if next.date() == day.date().saturating_add(1.day()) {
            return Ok(true);
        }
        day = next;
    }
    Ok(false)
}
