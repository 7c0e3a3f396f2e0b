//! Bounds of a part of the sweep, and its counts. Each part has a time of its own, so a backlog in one of
//! them delays none of the others; the next sweep goes on with what is left.

use std::time::{Duration, Instant};

use awo_domain::Error;

use super::SweepReport;

/// Time in which a part that has an invocation alone begins with items, and number of items that it handles at once.
const ALONE: Duration = Duration::from_secs(45);
const AT_ONCE: usize = 16;
/// The same of a part that shares its invocation with all others: a machine of its own, with one store.
const SHARED: Duration = Duration::from_secs(15);

/// The bounds of a part in one sweep.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    ends_at: Instant,
    /// Most items that are handled at once.
    pub at_once: usize,
}

impl Bounds {
    /// Bounds of a part that begins now, alone in its invocation or not.
    pub fn begin(is_alone: bool) -> Bounds {
        let (limit, at_once) = if is_alone {
            (ALONE, AT_ONCE)
        } else {
            (SHARED, 1)
        };
        Bounds {
            ends_at: Instant::now() + limit,
            at_once,
        }
    }

    /// True if the part begins with nothing more.
    pub fn are_over(&self) -> bool {
        Instant::now() >= self.ends_at
    }
}

impl SweepReport {
    /// Counts an item that was due, with what came of it.
    pub(super) fn count(&mut self, event: &'static str, item: &str, handled: Result<(), Error>) {
        self.due += 1;
        if let Err(error) = handled {
            self.fail(event, item, &error);
        }
    }

    /// Counts a part that could not read what is due: the invocation fails.
    pub(super) fn fail_to_read(&mut self, event: &'static str, item: &str, error: &Error) {
        self.fail(event, item, error);
        self.unread = true;
    }

    /// Counts what could not be done; the next sweep tries again.
    pub(super) fn fail(&mut self, event: &'static str, item: &str, error: &Error) {
        tracing::error!(
            event,
            item,
            ?error,
            "the sweep could not handle an item, and tries again in a minute"
        );
        self.failed += 1;
    }
}
