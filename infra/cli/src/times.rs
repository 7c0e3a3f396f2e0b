//! Times in readable form.

use awo_cloud::Clock;
use awo_domain::Timestamp;

use crate::paint::clean_line;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How long ago a time was, or how far off it is; none for what is no time.
pub fn ago(time: &str) -> Option<String> {
    let time = Timestamp::parse(time).ok()?;
    Some(between(time, Clock::default().now()))
}

/// A time without its milliseconds.
pub fn without_ms(time: &str) -> String {
    let time = clean_line(time);
    let whole = time.split_once('.').map(|(whole, _)| format!("{whole}Z"));
    whole.unwrap_or(time)
}

fn between(time: Timestamp, now: Timestamp) -> String {
    let seconds = (now.epoch_ms() - time.epoch_ms()) / 1_000;
    let (size, is_past) = (seconds.abs(), seconds >= 0);
    let text = match size {
        0..MINUTE => format!("{size} s"),
        MINUTE..HOUR => format!("{} min", size / MINUTE),
        HOUR..DAY => format!("{} h", size / HOUR),
        _ => format!("{} d", size / DAY),
    };
    if is_past {
        format!("{text} ago")
    } else {
        format!("in {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_by_their_largest_unit() {
        let at = |seconds: i64| Timestamp::from_epoch_ms(seconds * 1_000);
        for (before, seconds, text) in [
            (0, 0, "0 s ago"),
            (0, 59, "59 s ago"),
            (0, 3_599, "59 min ago"),
            (0, 7_200, "2 h ago"),
            (0, 200_000, "2 d ago"),
            (90, 0, "in 1 min"),
        ] {
            assert_eq!(between(at(before), at(seconds)), text);
        }
        assert_eq!(ago("never"), None);
    }

    #[test]
    fn milliseconds_are_left_out() {
        assert_eq!(
            without_ms("2026-11-20T08:00:00.123Z"),
            "2026-11-20T08:00:00Z"
        );
        assert_eq!(without_ms("soon\u{1b}"), "soon\u{fffd}");
    }
}
