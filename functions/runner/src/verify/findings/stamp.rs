//! Identity and age of a file at a path: a file of the commit, or of an earlier command, is not the
//! report of the command that just ran.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::files::is_pattern;
use crate::safe_files;

/// Two changes that are further apart than that differ in the kernel's time of change.
const TICK: Duration = Duration::from_millis(20);

/// A moment before a command, by the clock of the kernel that stamps files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Moment {
    seconds: i64,
    nanos: i64,
}

impl Moment {
    /// Now; each change of a file from here on is later.
    pub(in crate::verify) async fn now() -> Moment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default();
        // The time of a file's change may lag behind the clock.
        sleep(TICK).await;
        Moment {
            seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            nanos: i64::from(since.subsec_nanos()),
        }
    }

    pub(super) fn is_before(self, changed: (i64, i64)) -> bool {
        (self.seconds, self.nanos) < changed
    }
}

/// The state of a report's files before its command.
#[derive(Debug, Clone, Copy)]
pub(in crate::verify) enum Before {
    File(Stamp),
    /// For a pattern.
    Files(Moment),
}

impl Before {
    pub(in crate::verify) async fn of(dir: &Path, path: &str) -> Before {
        if is_pattern(path) {
            Before::Files(Moment::now().await)
        } else {
            Before::File(Stamp::before(dir, path).await)
        }
    }
}

/// The file that a path led to; nothing is one, too. The time of its last change is the kernel's
/// and cannot be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verify) struct Stamp(Option<(u64, u64, i64, i64, u64)>);

impl Stamp {
    /// What `path` below `dir` leads to, from a moment on after which each change of it shows.
    pub(in crate::verify) async fn before(dir: &Path, path: &str) -> Stamp {
        let meta = safe_files::metadata_of_target(dir, Path::new(path)).ok();
        if meta.as_ref().is_some_and(is_recent) {
            sleep(TICK).await;
        }
        Stamp::from(meta)
    }

    /// True if there was a file, and it is the same now.
    pub(in crate::verify) fn still_holds(self, dir: &Path, path: &str) -> bool {
        let now = safe_files::metadata_of_target(dir, Path::new(path)).ok();
        self.0.is_some() && self == Stamp::from(now)
    }

    fn from(meta: Option<Metadata>) -> Stamp {
        Stamp(meta.map(|meta| {
            let changed = (meta.ctime(), meta.ctime_nsec());
            (meta.dev(), meta.ino(), changed.0, changed.1, meta.size())
        }))
    }
}

/// A change in the future of the clock is recent, too.
fn is_recent(meta: &Metadata) -> bool {
    let seconds = u64::try_from(meta.ctime()).unwrap_or(0);
    let nanos = u64::try_from(meta.ctime_nsec()).unwrap_or(0);
    let changed = UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanos);
    let age = SystemTime::now().duration_since(changed);
    age.map_or(true, |age| age < TICK)
}
