//! Points in time: UTC milliseconds internally, `2026-11-20T08:00:00.000Z` in JSON.

use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Milliseconds since the Unix epoch, between the years 1970 and 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(i64);

/// Milliseconds of a UTC day.
pub const DAY_MS: i64 = 86_400_000;
/// 9999-12-31T23:59:59.999Z, the last moment that the wire format can write.
const LAST_MS: i64 = 253_402_300_799_999;

impl Timestamp {
    /// A moment by its Unix milliseconds; clamped to what the wire can show.
    #[must_use]
    pub fn from_epoch_ms(ms: i64) -> Self {
        Self(ms.clamp(0, LAST_MS))
    }

    /// Unix milliseconds.
    #[must_use]
    pub fn epoch_ms(self) -> i64 {
        self.0
    }

    /// Unix seconds, rounded down.
    #[must_use]
    pub fn epoch_seconds(self) -> i64 {
        self.0 / 1_000
    }

    /// The moment `ms` milliseconds later.
    #[must_use]
    pub fn plus_ms(self, ms: i64) -> Self {
        Self::from_epoch_ms(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to `self`; 0 when `earlier` is the later one.
    #[must_use]
    pub fn ms_since(self, earlier: Timestamp) -> i64 {
        (self.0 - earlier.0).max(0)
    }

    /// Reads any ISO 8601 date and time with an offset.
    ///
    /// # Errors
    /// [`NotATime`] for anything else, or for years outside 1970–9999.
    pub fn parse(text: &str) -> Result<Self, NotATime> {
        let ms = DateTime::parse_from_rfc3339(text)
            .map_err(|_| NotATime)?
            .timestamp_millis();
        Self::in_range(ms)
    }

    /// Reads an end of a period: a day, which is its first moment in UTC, or a date and time with
    /// an offset, in any of ISO 8601's extended spellings. Fractions of a millisecond are rounded
    /// up: of moments in whole milliseconds the same ones are before it.
    ///
    /// # Errors
    /// [`NotATime`] for anything else, or for years outside 1970–9999.
    pub fn parse_bound(text: &str) -> Result<Self, NotATime> {
        if let Ok(day) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
            let whole = text.len() == "2026-11-20".len();
            let ms = day.and_time(NaiveTime::MIN).and_utc().timestamp_millis();
            return if whole {
                Self::in_range(ms)
            } else {
                Err(NotATime)
            };
        }
        let spelled = |format| DateTime::parse_from_str(text, format);
        let at = DateTime::parse_from_rfc3339(text)
            .or_else(|_| spelled("%Y-%m-%dT%H:%M:%S%.f%#z"))
            .or_else(|_| spelled("%Y-%m-%dT%H:%M%#z"))
            .map_err(|_| NotATime)?;
        let beyond = at.timestamp_subsec_nanos() % 1_000_000 != 0;
        Self::in_range(at.timestamp_millis() + i64::from(beyond))
    }

    fn in_range(ms: i64) -> Result<Self, NotATime> {
        if (0..=LAST_MS).contains(&ms) {
            Ok(Self(ms))
        } else {
            Err(NotATime)
        }
    }

    /// The first moment of its UTC day.
    #[must_use]
    pub fn start_of_day(self) -> Self {
        Self(self.0 - self.0.rem_euclid(DAY_MS))
    }

    /// Its UTC day, such as `2026-11-20`.
    #[must_use]
    pub fn day(self) -> String {
        self.to_string().chars().take("2026-11-20".len()).collect()
    }
}

/// The text is not an ISO 8601 date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not an ISO 8601 date and time such as 2026-11-20T08:00:00.000Z")]
pub struct NotATime;

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at: DateTime<Utc> = DateTime::from_timestamp_millis(self.0).unwrap_or_default();
        f.write_str(&at.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl TryFrom<String> for Timestamp {
    type Error = NotATime;
    fn try_from(text: String) -> Result<Self, NotATime> {
        Self::parse(&text)
    }
}

impl From<Timestamp> for String {
    fn from(at: Timestamp) -> String {
        at.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_with_milliseconds() {
        let at = Timestamp::parse("2026-11-20T10:00:00+02:00").unwrap();
        assert_eq!(at.to_string(), "2026-11-20T08:00:00.000Z");
        assert!(Timestamp::parse("2026-11-20").is_err());
        assert!(Timestamp::parse("1969-12-31T23:59:59Z").is_err());
    }

    #[test]
    fn an_end_of_a_period_is_a_day_or_a_time_with_an_offset() {
        for (text, at) in [
            ("2026-11-20", "2026-11-20T00:00:00.000Z"),
            ("2026-11-20T08:00:00Z", "2026-11-20T08:00:00.000Z"),
            ("2026-11-20T08:00:00.5+02:00", "2026-11-20T06:00:00.500Z"),
            ("2026-11-20T08:00-0530", "2026-11-20T13:30:00.000Z"),
            ("2026-11-20T08:00:00.0001Z", "2026-11-20T08:00:00.001Z"),
            ("2026-11-20T08:00:00.999999999Z", "2026-11-20T08:00:01.000Z"),
        ] {
            assert_eq!(
                Timestamp::parse_bound(text).unwrap().to_string(),
                at,
                "{text}"
            );
        }
        for bad in [
            "",
            "2026",
            "2026-1-2",
            "2026-11-31",
            "2026-11-20T08:00:00",
            "1969-12-31",
            "+2026-11-20",
            "now",
            "10000-01-01",
            "2026-11-20T25:00:00Z",
        ] {
            assert!(Timestamp::parse_bound(bad).is_err(), "{bad}");
        }
    }
}
