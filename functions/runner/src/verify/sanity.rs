//! L3, sanity: what the changed files look like, and how much the tests cover.
//!
//! Leftovers are, in changed text files, at the start of a line but for white space (conflict
//! marks: at its very start):
//! - in any file: the conflict marks `<<<<<<< ` and `>>>>>>> `;
//! - Rust: `dbg!(`; Python: `breakpoint()`, `import pdb`, `pdb.set_trace(`;
//! - JavaScript and TypeScript: `debugger`; Ruby: `binding.pry`, `byebug`.
//!
//! Output for people (`console.log`, `print`) is not a leftover: many programs are about it.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use awo_domain::verification::Check;

use super::contracts::list_some;
use super::{Verification, error, failed, passed};
use crate::confined::{self, Unreadable};
use crate::plan::{Coverage, CoverageFormat};

/// Largest file that is searched for leftovers.
const MAX_SEARCHED_BYTES: u64 = 2 * 1_024 * 1_024;
/// Largest coverage report.
const MAX_COVERAGE_BYTES: u64 = 64 * 1_024 * 1_024;
/// Most leftovers that are named.
const MAX_LEFTOVERS: usize = 20;

impl Verification<'_> {
    pub(super) fn sanity(&self) -> Vec<Check> {
        let sanity = &self.plan.sanity;
        let mut checks = Vec::new();
        if let Some(limit) = sanity.max_file_bytes {
            checks.push(self.large_files(limit));
        }
        if sanity.forbid_debug_leftovers {
            checks.push(self.leftovers());
        }
        if let Some(coverage) = &sanity.coverage {
            checks.push(self.coverage(coverage));
        }
        checks
    }

    fn large_files(&self, limit: u64) -> Check {
        let is_large = |path: &&PathBuf| {
            let meta = confined::metadata_within(&self.subject.dir, path);
            meta.is_ok_and(|meta| meta.is_file() && meta.len() > limit)
        };
        let large: Vec<PathBuf> = self
            .subject
            .changed
            .iter()
            .filter(is_large)
            .cloned()
            .collect();
        match large.is_empty() {
            true => passed("large files", "none"),
            false => failed(
                "large files",
                &format!("larger than {limit} bytes: {}", list_some(&large)),
            ),
        }
    }

    fn leftovers(&self) -> Check {
        let mut found = Vec::new();
        for path in &self.subject.changed {
            if self.left().is_zero() {
                return error("debug leftovers", &self.out_of_time("not finished: "));
            }
            let relative = path.to_string_lossy();
            let read = confined::read_within(&self.subject.dir, &relative, MAX_SEARCHED_BYTES);
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
        match found.is_empty() {
            true => passed("debug leftovers", "none"),
            false => failed("debug leftovers", &format!("remove\n{}", found.join("\n"))),
        }
    }

    fn coverage(&self, coverage: &Coverage) -> Check {
        const NAME: &str = "coverage";
        let path = coverage.path.as_str();
        if coverage.format == CoverageFormat::Cobertura {
            return error(NAME, "the format cobertura is not supported yet: use lcov");
        }
        let bytes = match confined::read_within(&self.subject.dir, path, MAX_COVERAGE_BYTES) {
            Ok(bytes) => bytes,
            Err(Unreadable::Missing) => {
                return failed(NAME, &format!("{path} was not written by the tests"));
            }
            Err(why) => return error(NAME, &format!("{path} {why}")),
        };
        match covered(&bytes) {
            Err(why) => error(NAME, &format!("{path} is not an LCOV report: {why}")),
            Ok((_, 0)) => error(NAME, &format!("{path} names no lines")),
            Ok((hit, all)) => judge(hit, all, coverage.minimum.0),
        }
    }
}

/// Lines that were run, and all lines.
fn covered(bytes: &[u8]) -> Result<(u64, u64), String> {
    let (mut hit, mut all) = (0, 0);
    for record in lcov::Reader::new(BufReader::new(bytes)) {
        if let lcov::Record::LineData { count, .. } = record.map_err(|why| why.to_string())? {
            all += 1;
            hit += u64::from(count > 0);
        }
    }
    Ok((hit, all))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "no report has more lines than a double counts exactly"
)]
fn judge(hit: u64, all: u64, minimum: f64) -> Check {
    let part = hit as f64 / all as f64;
    let message = format!(
        "{hit} of {all} lines are covered, {:.1} %; at least {:.1} % are wanted",
        part * 100.0,
        minimum * 100.0
    );
    if part >= minimum {
        passed("coverage", &message)
    } else {
        failed("coverage", &message)
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
    fn covered_lines_are_counted_over_all_files() {
        let report =
            b"TN:\nSF:a\nDA:1,2\nDA:2,0\nLF:2\nLH:1\nend_of_record\nSF:b\nDA:1,1\nend_of_record\n";
        assert_eq!(covered(report), Ok((2, 3)));
        assert!(covered(b"nonsense\n").is_err());
    }

    #[test]
    fn leftovers_stand_at_the_start_of_a_line() {
        assert!(is_leftover("    dbg!(x);", &["dbg!("]));
        assert!(!is_leftover("// about dbg!(x)", &["dbg!("]));
        assert!(is_leftover("<<<<<<< HEAD", &[]));
        assert!(!is_leftover(" <<<<<<< HEAD", &[]));
    }
}
