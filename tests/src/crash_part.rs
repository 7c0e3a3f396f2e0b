//! The selection of crash points for a test run. The points of a step are its calls times the
//! faults; all of them take longer than all other tests, so each call gets one of the seven faults,
//! another one each day of a week, and `make test-crash` raises all.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::faults::Fault;

/// `all`, or the number of a part, from 0. Without it the part changes with the day (UTC).
const VARIABLE: &str = "AWO_CRASH_PART";
/// As many as faults: in each part, each call gets one.
pub const PARTS: u32 = Fault::ALL.len() as u32;
const SECONDS_OF_A_DAY: u64 = 24 * 60 * 60;

/// The calls from 1 to `max` in which this run of the tests raises the fault.
///
/// # Panics
/// When `AWO_CRASH_PART` is neither `all` nor the number of a part.
pub fn calls(fault: Fault, max: u32) -> impl Iterator<Item = u32> {
    let part = part();
    (1..=max).filter(move |nth| part.is_none_or(|part| (fault as u32 + nth) % PARTS == part))
}

/// The part of this run; none if it tries all.
///
/// # Panics
/// When `AWO_CRASH_PART` is neither `all` nor the number of a part.
#[must_use]
pub fn part() -> Option<u32> {
    match env::var(VARIABLE) {
        Ok(value) if value == "all" => None,
        Ok(value) => {
            let part = value.parse().ok().filter(|part| *part < PARTS);
            Some(part.unwrap_or_else(|| {
                panic!("{VARIABLE} is `all` or a number below {PARTS}, and not {value:?}")
            }))
        }
        Err(_) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let days = now.map_or(0, |now| now.as_secs() / SECONDS_OF_A_DAY);
            u32::try_from(days % u64::from(PARTS)).ok()
        }
    }
}
