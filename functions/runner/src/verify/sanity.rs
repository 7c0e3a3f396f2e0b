//! L3, sanity: the content of changed files, the files that commands left behind, and how
//! much the tests cover.
//!
//! Leftovers are, in changed text files, at the start of a line but for white space (conflict
//! marks: at its very start):
//! - in any file: the conflict marks `<<<<<<< ` and `>>>>>>> `;
//! - Rust: `dbg!(`; Python: `breakpoint()`, `import pdb`, `pdb.set_trace(`;
//! - JavaScript and TypeScript: `debugger`; Ruby: `binding.pry`, `byebug`.
//!
//! Output for people (`console.log`, `print`) is not a leftover: many programs are about it.

use std::path::{Path, PathBuf};

use awo_domain::verification::Check;

use super::contracts::list_some;
use super::{Verification, failed, passed};
use crate::inspection::Task;
use crate::safe_files;
use crate::stop::StopOutcome;

/// Largest file that is searched for leftovers.
const MAX_SEARCHED_BYTES: u64 = 2 * 1_024 * 1_024;
/// Most leftovers that are named.
const MAX_LEFTOVERS: usize = 20;

/// The names of checks.
pub(crate) const LARGE_FILES: &str = "large files";
pub(crate) const LEFTOVERS: &str = "debug leftovers";

impl Verification<'_> {
    pub(super) async fn sanity(&self) -> Result<Vec<Check>, StopOutcome> {
        let sanity = &self.plan.sanity;
        let mut named: Vec<(String, Task)> = Vec::new();
        if let Some(limit) = sanity.max_file_bytes {
            named.push((LARGE_FILES.to_owned(), Task::LargeFiles { limit }));
        }
        if sanity.forbid_debug_leftovers {
            named.push((LEFTOVERS.to_owned(), Task::Leftovers));
        }
        let mut checks = self.inspected(named).await?;
        checks.extend(self.clean_tree().await?);
        if let Some(coverage) = &sanity.coverage {
            checks.extend(self.covered(coverage).await?);
        }
        Ok(checks)
    }
}

/// Whether none of `files` is larger than `limit` bytes.
pub(crate) fn large_files(dir: &Path, files: &[PathBuf], limit: u64) -> Check {
    let is_large = |path: &&PathBuf| {
        let meta = safe_files::metadata_within(dir, path);
        meta.is_ok_and(|meta| meta.is_file() && meta.len() > limit)
    };
    let large: Vec<PathBuf> = files.iter().filter(is_large).cloned().collect();
    if large.is_empty() {
        passed(LARGE_FILES, "none")
    } else {
        failed(
            LARGE_FILES,
            &format!("larger than {limit} bytes: {}", list_some(&large)),
        )
    }
}

/// Whether none of `files` has something that is there for debugging.
pub(crate) fn leftovers(dir: &Path, files: &[PathBuf]) -> Check {
    let mut found = Vec::new();
    for path in files {
        let relative = path.to_string_lossy();
        let read = safe_files::read_within(dir, path, MAX_SEARCHED_BYTES);
        // What is gone, a link or too large to be source text has no leftovers.
        let Ok(bytes) = read else { continue };
        let Ok(text) = std::str::from_utf8(&bytes) else {
            continue;
        };
        let marks = marks_of(path);
        for (number, line) in text.lines().enumerate() {
            if is_leftover(line, marks) && found.len() < MAX_LEFTOVERS {
                found.push(format!("{relative}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    if found.is_empty() {
        passed(LEFTOVERS, "none")
    } else {
        failed(LEFTOVERS, &format!("remove\n{}", found.join("\n")))
    }
}

fn marks_of(path: &Path) -> &'static [&'static str] {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => &["dbg!("],
        Some("py") => &["breakpoint()", "import pdb", "pdb.set_trace("],
        Some("js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts") => &["debugger"],
        Some("rb") => &["binding.pry", "byebug"],
        _ => &[],
    }
}

fn is_leftover(line: &str, marks: &[&str]) -> bool {
    let conflict = line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    let trimmed = line.trim_start();
    conflict || marks.iter().any(|mark| trimmed.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_stand_at_the_start_of_a_line() {
        assert!(is_leftover("    dbg!(x);", &["dbg!("]));
        assert!(!is_leftover("// about dbg!(x)", &["dbg!("]));
        assert!(is_leftover("<<<<<<< HEAD", &[]));
        assert!(!is_leftover(" <<<<<<< HEAD", &[]));
    }
}
