//! The selection of crash points for a test run. The points of a step are its calls times the
//! faults; all of them take longer than all other tests, so each call gets one of the seven faults,
//! another one each day of a week, and `make test-crash` raises all.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::faults::Fault;
use crate::world::{Stage, World};

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

/// Raises the faults of this run in the calls of a story, each in a story of its own. The story answers false once it has
/// fewer calls than the one that is to go wrong.
///
/// # Panics
/// When fewer than `least` calls went wrong.
pub async fn crash_points(
    what: &str,
    max_calls: u32,
    least: u32,
    story: impl AsyncFn(&World, u32, Fault) -> bool,
) {
    let mut stage = Stage::default();
    let mut points = 0;
    for fault in Fault::ALL {
        for nth in calls(fault, max_calls) {
            let world = stage.world().await;
            if !Box::pin(story(&world, nth, fault)).await {
                break;
            }
            points += 1;
        }
    }
    println!("crash points of {what}: {points}");
    assert!(points >= least, "only {points} points");
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
