//! Which file stands at a place, and since when: what a commit holds, or an earlier command wrote,
//! is no report of the command that was just run.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::confined;

/// The file that a path led to; nothing is one, too. The time of its last change is the kernel's
/// and cannot be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verify) struct Stamp(Option<(u64, u64, i64, i64, u64)>);

impl Stamp {
    /// What `path` below `dir` leads to now.
    pub(in crate::verify) fn of(dir: &Path, path: &str) -> Stamp {
        let meta = confined::metadata_of_target(dir, Path::new(path)).ok();
        Stamp(meta.map(|meta| {
            let changed = (meta.ctime(), meta.ctime_nsec());
            (meta.dev(), meta.ino(), changed.0, changed.1, meta.size())
        }))
    }

    /// True if there was a file, and it is the same now.
    pub(in crate::verify) fn still_holds(self, dir: &Path, path: &str) -> bool {
        self.0.is_some() && self == Stamp::of(dir, path)
    }
}
