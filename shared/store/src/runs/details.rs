//! Details of runs: timelines, logs and diffs. They expire, so that the stored amount is bounded;
//! runs, work orders, audits, usage and ledger stay.
//!
//! A detail expires by the time of its writing, so nothing is written a second time when a run
//! ends, and DynamoDB removes it for free. Removal may take days, during which reads leave it out
//! ([`crate::engine::list::Slice`]).

use awo_domain::Timestamp;
use serde::Serialize;

/// For how long details are stored. The default is 90 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DetailsRetention {
    days: u32,
}

impl Default for DetailsRetention {
    fn default() -> DetailsRetention {
        DetailsRetention { days: 90 }
    }
}

/// A detail with the time of its end, in Unix seconds.
#[derive(Debug, Serialize)]
pub(crate) struct Expiring<'a, T> {
    #[serde(flatten)]
    detail: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<i64>,
}

impl DetailsRetention {
    /// For so many days; 0 is for ever.
    #[must_use]
    pub fn days(days: u32) -> DetailsRetention {
        DetailsRetention { days }
    }

    /// A detail that is written now.
    pub(crate) fn expiring<T>(self, detail: &T, now: Timestamp) -> Expiring<'_, T> {
        let seconds = i64::from(self.days) * 24 * 3_600;
        let ttl = (self.days > 0).then(|| now.epoch_seconds() + seconds);
        Expiring { detail, ttl }
    }
}
