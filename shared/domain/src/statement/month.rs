//! Months of statements.

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::cost::report::month;
use crate::span::Span;
use crate::time::DAY_MS;

/// How long after its end a month can be closed at once: nothing is booked with an older time.
const SETTLED_MS: i64 = 3_600_000;
/// A month is closed by itself on the third day after its end.
const CLOSED_AFTER_MS: i64 = 2 * DAY_MS;

/// A month such as `2026-11`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Month(Timestamp);

impl Month {
    /// The month of a moment.
    #[must_use]
    pub fn of(at: Timestamp) -> Month {
        Month(month(at, 0))
    }

    /// Reads a month.
    ///
    /// # Errors
    /// What is wrong with it, as a predicate.
    pub fn parse(text: &str) -> Result<Month, String> {
        let first = (text.len() == "2026-11".len()).then(|| format!("{text}-01"));
        let first = first.and_then(|day| Timestamp::parse_bound(&day).ok());
        first
            .map(Month)
            .ok_or_else(|| "must be a month such as 2026-11".to_owned())
    }

    /// Its first moment.
    #[must_use]
    pub fn start(&self) -> Timestamp {
        self.0
    }

    /// The first moment after it.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        month(self.0, 1)
    }

    /// The month after it.
    #[must_use]
    pub fn next(&self) -> Month {
        Month(self.end())
    }

    /// The month before it.
    #[must_use]
    pub fn previous(&self) -> Month {
        Month(month(self.0.plus_ms(-1), 0))
    }

    /// From its first moment to the first after it.
    #[must_use]
    pub fn span(&self) -> Span {
        Span {
            from: Some(self.start()),
            until: Some(self.end()),
        }
    }

    /// From when on nothing can be booked in it any more.
    #[must_use]
    pub fn closable_at(&self) -> Timestamp {
        self.end().plus_ms(SETTLED_MS)
    }

    /// When it is closed by itself.
    #[must_use]
    pub fn closes_at(&self) -> Timestamp {
        self.end().plus_ms(CLOSED_AFTER_MS)
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.day().get(..7).unwrap_or_default())
    }
}

impl TryFrom<String> for Month {
    type Error = String;
    fn try_from(text: String) -> Result<Month, String> {
        Month::parse(&text)
    }
}

impl From<Month> for String {
    fn from(month: Month) -> String {
        month.to_string()
    }
}
