//! The time of day in the services' format. Invariant: waits never use it; they use the monotonic
//! clock, so that a corrected clock changes no timeout.

use chrono::{DateTime, SecondsFormat, Utc};

pub(crate) fn now() -> DateTime<Utc> {
    Utc::now()
}

/// Milliseconds since 1970.
pub(crate) fn epoch_millis() -> u64 {
    u64::try_from(now().timestamp_millis()).unwrap_or(0)
}

/// Seconds since 1970 with a fraction, as AWS JSON writes timestamps.
pub(crate) fn epoch_seconds(time: DateTime<Utc>) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds since 1970 fit in 52 bits for the next 140 000 years"
    )]
    let millis = time.timestamp_millis() as f64;
    millis / 1000.0
}

/// `2026-11-20T09:37:41Z`, the time of an EventBridge event.
pub(crate) fn event_time(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// `2026-11-20T09:37:41.123Z`, the times inside a task event.
pub(crate) fn precise_time(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}
