//! The results in a command's own report, test by test.
//!
//! The tests of a hostile repository write the report. It is read within limits of size, depth and
//! number of tests; it must be complete; and a file from before the command is not its report. A
//! report never overrides an exit code: both must be successful.

mod encoding;
mod files;
mod json;
mod junit;
mod sarif;
mod stamp;
mod tap;
mod xml;

use std::path::Path;

use awo_domain::verification::{Check, CheckLocation, Status, TestCounts};
use serde::{Deserialize, Serialize};

use super::check;
use crate::output::{last_bytes, printable};
use crate::plan::{TestReport, TestReportFormat};
use crate::safe_files;

pub(super) use encoding::xml_text;
pub(super) use files::is_pattern;
pub(crate) use stamp::Moment;
pub(super) use stamp::{Before, Stamp};
pub(super) use xml::{Element, Node, Xml, attribute};

/// Largest report of tests.
const MAX_REPORT_BYTES: u64 = 16 * 1_024 * 1_024;
/// All files of one report together.
const MAX_REPORTS_BYTES: u64 = 64 * 1_024 * 1_024;
/// Most tests and findings of one report.
const MAX_FINDINGS: usize = 100_000;
/// Most findings of one report that become checks of their own because they do not pass; the
/// rest is counted.
const MAX_FAILED: usize = 50;
/// The same for warnings and for what was skipped.
const MAX_MILD: usize = 10;
/// Longest message of one finding.
const MAX_MESSAGE_BYTES: usize = 2_048;
/// Bytes of a report by which its format is known.
const CONTENT_BYTES: usize = 4_096;
/// Longest part of a check's name that is the command's, and that is the finding's.
pub(super) const MAX_COMMAND_CHARS: usize = 40;
const MAX_NAME_CHARS: usize = 76;

/// One test, or one thing that a linter found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finding {
    pub(super) name: String,
    pub(super) status: Status,
    pub(super) message: String,
    pub(super) location: Option<CheckLocation>,
}

/// The content of a report: the first of each kind by name, and how many there are.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Findings {
    named: Vec<Finding>,
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) warnings: usize,
    pub(super) skipped: usize,
}

impl Findings {
    /// Reads the report that a command wrote, or all reports that its pattern matches.
    ///
    /// # Errors
    /// Why it cannot be relied on, as the rest of a sentence that begins with its path.
    pub(crate) fn read(
        dir: &Path,
        report: &TestReport,
        since: Option<Moment>,
    ) -> Result<Findings, String> {
        let paths = files::of_report(dir, report.path.as_str(), since)?;
        if let [path] = paths.as_slice() {
            return Findings::of_file(dir, path, report.format, MAX_REPORT_BYTES);
        }
        let mut all = Findings::default();
        let mut left = MAX_REPORTS_BYTES;
        for path in paths {
            let named = |why: String| format!("matches {}, which {why}", path.display());
            let most = left.min(MAX_REPORT_BYTES);
            let findings = Findings::of_file(dir, &path, report.format, most).map_err(named)?;
            let size = safe_files::metadata_of_target(dir, &path).map_or(most, |meta| meta.len());
            left = left.saturating_sub(size);
            all.merge(findings)?;
        }
        Ok(all)
    }

    fn of_file(
        dir: &Path,
        path: &Path,
        format: Option<TestReportFormat>,
        most: u64,
    ) -> Result<Findings, String> {
        let bytes = safe_files::read_within(dir, path, most).map_err(|why| why.to_string())?;
        if bytes.trim_ascii().is_empty() {
            return Err("is empty".to_owned());
        }
        match format.unwrap_or_else(|| by_content(&bytes)) {
            TestReportFormat::Json => json::read(&bytes).map_err(|why| why.to_string()),
            TestReportFormat::Junit => {
                junit::read(&xml_text(&bytes).map_err(|why| why.to_string())?)
            }
            TestReportFormat::Tap => tap::read(&String::from_utf8_lossy(&bytes)),
            TestReportFormat::Sarif => sarif::read(&bytes),
        }
    }

    /// Adds those of another file.
    ///
    /// # Errors
    /// When there are too many.
    fn merge(&mut self, other: Findings) -> Result<(), String> {
        if self.count() + other.count() > MAX_FINDINGS {
            return Err(format!("names more than {MAX_FINDINGS} tests"));
        }
        for finding in other.named {
            let is_bad = !finding.status.passes();
            let most = if is_bad { MAX_FAILED } else { MAX_MILD };
            let alike = self.named.iter();
            let alike = alike.filter(|named| named.status == finding.status).count();
            if alike < most {
                self.named.push(finding);
            }
        }
        self.passed += other.passed;
        self.failed += other.failed;
        self.warnings += other.warnings;
        self.skipped += other.skipped;
        Ok(())
    }

    /// Counts one more.
    ///
    /// # Errors
    /// When there are too many.
    fn add(&mut self, finding: Finding) -> Result<(), String> {
        if self.count() == MAX_FINDINGS {
            return Err(format!("names more than {MAX_FINDINGS} tests"));
        }
        let (count, most) = match finding.status {
            Status::Passed => (&mut self.passed, 0),
            Status::Skipped => (&mut self.skipped, MAX_MILD),
            Status::Warning => (&mut self.warnings, MAX_MILD),
            Status::Failed | Status::Error => (&mut self.failed, MAX_FAILED),
        };
        *count += 1;
        if *count <= most {
            self.named.push(finding);
        }
        Ok(())
    }

    /// True if nothing ran, or all that there is was skipped.
    pub(super) fn none_ran(&self) -> bool {
        self.count() == self.skipped
    }

    pub(super) fn count(&self) -> usize {
        self.passed + self.failed + self.warnings + self.skipped
    }

    /// Numbers of tests; one with a warning has passed.
    pub(super) fn test_counts(&self) -> TestCounts {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        TestCounts {
            passed: number(self.passed + self.warnings),
            failed: number(self.failed),
            skipped: number(self.skipped),
        }
    }

    /// `2 failed, 10 passed`; `nothing` if it names nothing.
    pub(super) fn counts(&self) -> String {
        let counts = [
            (self.failed, "failed"),
            (self.warnings, "with a warning"),
            (self.passed, "passed"),
            (self.skipped, "skipped"),
        ];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if counts.is_empty() {
            "nothing".to_owned()
        } else {
            counts.join(", ")
        }
    }

    /// The checks of a command's findings, at most `most`, those that do not pass first; one more
    /// states how many failed beside them.
    pub(super) fn checks(mut self, command: &str, most: usize) -> Vec<Check> {
        self.named
            .sort_by_key(|finding| std::cmp::Reverse(finding.status));
        let is_bad = |finding: &&Finding| !finding.status.passes();
        let bad = self.named.iter().filter(is_bad).count();
        let shown = bad.min(most);
        let command: String = command.chars().take(MAX_COMMAND_CHARS).collect();
        let mut checks: Vec<Check> = self.named[..shown]
            .iter()
            .chain(self.named[bad..].iter().take(most - shown))
            .map(|finding| {
                let name = format!("{command}: {}", short(&finding.name));
                Check {
                    location: finding.location.clone(),
                    ..check(&name, finding.status, &message(&finding.message))
                }
            })
            .collect();
        if self.failed > shown {
            let name = format!("{command}: {} more", self.failed - shown);
            let text = "failed too, and are not named here";
            checks.insert(shown, check(&name, Status::Failed, text));
        }
        checks
    }
}

/// The format of a report whose plan names none.
fn by_content(bytes: &[u8]) -> TestReportFormat {
    let is_wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(CONTENT_BYTES)]);
    let start = start.trim_start_matches('\u{feff}').trim_start();
    let is_sarif = || start.contains("\"runs\"") || start.contains("sarif");
    match start.chars().next() {
        Some('<') => TestReportFormat::Junit,
        Some('{') if is_sarif() => TestReportFormat::Sarif,
        Some('{' | '[') => TestReportFormat::Json,
        _ if is_wide => TestReportFormat::Junit,
        _ if start.lines().any(|line| line.starts_with("{\"")) => TestReportFormat::Json,
        _ => TestReportFormat::Tap,
    }
}

/// Checks of failing tests that a command's output names, at most `most`; one more states how many failed
/// beside them.
pub(super) fn failed_tests(
    command: &str,
    names: &[String],
    failed: u64,
    most: usize,
) -> Vec<Check> {
    const MESSAGE: &str = "failed, by the output of its command";
    let command: String = command.chars().take(MAX_COMMAND_CHARS).collect();
    let named = names.iter().take(most.min(MAX_FAILED));
    let mut checks: Vec<Check> = named
        .map(|test| {
            check(
                &format!("{command}: {}", short(test)),
                Status::Failed,
                MESSAGE,
            )
        })
        .collect();
    let shown = u64::try_from(checks.len()).unwrap_or(u64::MAX);
    if shown > 0 && failed > shown {
        let name = format!("{command}: {} more", failed - shown);
        checks.push(check(
            &name,
            Status::Failed,
            "failed too, and are not named here",
        ));
    }
    checks
}

/// A name of one line; of a long one both ends, which hold the file and the test's own name.
fn short(name: &str) -> String {
    let name = printable(name).replace(['\n', '\t'], " ");
    let name = name.trim();
    let count = name.chars().count();
    if count <= MAX_NAME_CHARS {
        return if name.is_empty() {
            "without a name"
        } else {
            name
        }
        .to_owned();
    }
    let head = (MAX_NAME_CHARS - 1) / 2;
    let tail = MAX_NAME_CHARS - 1 - head;
    let mut shown: String = name.chars().take(head).collect();
    shown.push('…');
    shown.extend(name.chars().skip(count - tail));
    shown
}

fn message(text: &str) -> String {
    last_bytes(printable(text).trim(), MAX_MESSAGE_BYTES)
}

/// Adds to a text that stays short, its beginning retained: what a report repeats is not
/// stored repeatedly.
fn append(text: &mut String, more: &str) {
    let room = MAX_MESSAGE_BYTES.saturating_sub(text.len());
    let mut end = more.len().min(room);
    while !more.is_char_boundary(end) {
        end -= 1;
    }
    text.push_str(&more[..end]);
}

#[cfg(test)]
mod tests;
