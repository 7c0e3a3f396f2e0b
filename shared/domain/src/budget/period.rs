//! For how long a budget is.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::Timestamp;
use crate::cost::report::month;
use crate::time::DAY_MS;

/// Months of a quarter.
const QUARTER: u32 = 3;

/// For how long a budget is; days and months are UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Period {
    /// A day.
    Day,
    /// A month.
    Month,
    /// Three months, from January on.
    Quarter,
    /// From its creation on, without an end.
    Once,
}

impl Period {
    /// The first moment of the period in which a moment is, if that follows from the calendar.
    #[must_use]
    pub fn start(self, at: Timestamp) -> Option<Timestamp> {
        match self {
            Period::Day => Some(at.start_of_day()),
            Period::Month => Some(month(at, 0)),
            Period::Quarter => Some(quarter(at)),
            Period::Once => None,
        }
    }

    /// The first moment after it.
    #[must_use]
    pub fn end(self, at: Timestamp) -> Option<Timestamp> {
        match self {
            Period::Day => Some(at.start_of_day().plus_ms(DAY_MS)),
            Period::Month => Some(month(at, 1)),
            Period::Quarter => Some(month(quarter(at), QUARTER)),
            Period::Once => None,
        }
    }
}

/// The first moment of a quarter: of its months, the last one that begins a quarter.
fn quarter(at: Timestamp) -> Timestamp {
    let first = month(at, 0);
    let number: u32 = first
        .day()
        .get(5..7)
        .and_then(|m| m.parse().ok())
        .unwrap_or(1);
    let mut start = first;
    for _ in 0..(number - 1) % QUARTER {
        start = month(start.plus_ms(-1), 0);
    }
    start
}
