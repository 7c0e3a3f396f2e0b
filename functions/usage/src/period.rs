//! The period of a report, from a query.

use awo_domain::Timestamp;
use awo_domain::cost::report::month;
use awo_domain::span::Span;
use awo_http::query::Query;

const BOUND: &str = "must be a day such as 2026-11-20, or a date and time with an offset such as \
                     2026-11-20T08:00:00Z (a + must be sent as %2B)";

/// From `from` until `to`; this month where neither is given, and the month of the one that is.
pub(crate) fn span(query: &Query, now: Timestamp) -> Span {
    let bound = |name| query.parsed(name, BOUND, |text| Timestamp::parse_bound(text).ok());
    let (from, until) = (bound("from"), bound("to"));
    let day = match until {
        Some(until) => until.plus_ms(-1),
        None => now.max(from.unwrap_or(now)),
    };
    let from = from.unwrap_or(month(day, 0));
    let until = until.unwrap_or(month(day, 1));
    if until < from {
        query.fault("to", "must not be before from");
    }
    Span {
        from: Some(from),
        until: Some(until),
    }
}
