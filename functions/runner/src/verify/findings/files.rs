//! The files of a report: one by its path, or all that a pattern matches.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::stamp::Moment;
use crate::plan::{Glob, matching};
use crate::safe_files;
use crate::verify::files;

/// Most files of one report.
const MAX_FILES: usize = 1_000;

/// True if a path may match several files.
pub(in crate::verify) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

/// The files, in order. Of those that a pattern matches at least one was written since then.
///
/// # Errors
/// Why there are none, as the rest of a sentence that begins with the path.
pub(super) fn of_report(
    dir: &Path,
    path: &str,
    since: Option<Moment>,
) -> Result<Vec<PathBuf>, String> {
    let literal = PathBuf::from(path);
    let is_there = safe_files::metadata_of_target(dir, &literal).is_ok();
    let reports = if is_there || !is_pattern(path) {
        vec![literal]
    } else {
        let glob = Glob::try_from(path.trim_start_matches("./").to_owned())?;
        let all = files::list(dir).map_err(|why| format!("cannot be searched for: {why}"))?;
        let numbers = matching(&[glob], &all);
        numbers
            .into_iter()
            .filter_map(|n| all.get(n).cloned())
            .collect()
    };
    if reports.is_empty() {
        return Err("matches no file".to_owned());
    }
    if reports.len() > MAX_FILES {
        return Err(format!("matches more than {MAX_FILES} files"));
    }
    let is_new = |path: &PathBuf| {
        let meta = safe_files::metadata_of_target(dir, path);
        let changed = meta.map(|meta| (meta.ctime(), meta.ctime_nsec()));
        changed.is_ok_and(|changed| since.is_none_or(|since| since.is_before(changed)))
    };
    if since.is_some() && !reports.iter().any(is_new) {
        return Err("matches only files that existed before and were not written again".to_owned());
    }
    Ok(reports)
}
