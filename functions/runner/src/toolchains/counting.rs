//! The number of tests of a command, from the last lines of its output, in the format of each known
//! tool. Unknown formats have no count.

use std::fmt;

use crate::output::Tail;

/// What ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// True if packages are counted, since the tool does not report their number of tests.
    pub(crate) packages: bool,
}

impl Counts {
    /// True if nothing ran, or all that there is was skipped.
    pub(crate) fn none_ran(&self) -> bool {
        self.passed == 0 && self.failed == 0
    }

    pub(crate) fn add(&mut self, other: Counts) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.packages |= other.packages;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self
            .passed
            .saturating_add(self.failed)
            .saturating_add(self.skipped);
        let what = match (self.packages, all) {
            (true, 1) => "package with tests",
            (true, _) => "packages with tests",
            (false, 1) => "test",
            (false, _) => "tests",
        };
        write!(f, "{all} {what}: {} passed", self.passed)?;
        for (count, how) in [(self.failed, "failed"), (self.skipped, "skipped")] {
            if count > 0 {
                write!(f, ", {count} {how}")?;
            }
        }
        Ok(())
    }
}

/// The tools' counts in this output; nothing if there are none.
pub(crate) fn read(output: &Tail) -> Option<Counts> {
    let text = output.text();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let counts = in_lines(&lines)?;
    // Of several summaries only the last ones may be left.
    (!counts.none_ran() || !output.was_cut() || has_final_summary(&lines)).then_some(counts)
}

/// True if a tool's summary of everything that it ran is there.
fn has_final_summary(lines: &[&str]) -> bool {
    runners().any(|runner| runner.is_final && (runner.count)(lines).is_some())
}

/// A test runner, known by the closing lines that it prints.
pub(crate) struct Runner {
    /// Its program or library, for tests and messages.
    pub(crate) name: &'static str,
    /// Returns its counts if its words are there.
    pub(crate) count: fn(&[&str]) -> Option<Counts>,
    /// True if its last summary is of everything that it ran.
    pub(crate) is_final: bool,
}

fn runners() -> impl Iterator<Item = &'static Runner> {
    super::all().flat_map(|toolchain| toolchain.runners)
}

fn in_lines(lines: &[&str]) -> Option<Counts> {
    let mut all: Option<Counts> = None;
    for runner in runners() {
        if let Some(counts) = (runner.count)(lines) {
            all.get_or_insert_default().add(counts);
        }
    }
    all.or_else(|| tap(lines)).or_else(|| without_output(lines))
}

/// `> tape test/*.js`, as npm announces a script, and nothing after it: these tools count what they run, and
/// print nothing at all where there is nothing.
fn without_output(lines: &[&str]) -> Option<Counts> {
    const TOOLS: [&str; 6] = ["tape", "tap", "mocha", "jest", "vitest", "ava"];
    let last = lines.iter().rfind(|line| !line.is_empty())?;
    let script = last.strip_prefix("> ")?;
    let mut words = script.split(' ');
    words
        .any(|word| TOOLS.contains(&word))
        .then(Counts::default)
}

/// Words without the punctuation around them.
pub(super) fn words(line: &str) -> Vec<&str> {
    line.split([' ', '\t', ',', ';', '|', '(', ')', '=', '.'])
        .filter(|word| !word.is_empty())
        .collect()
}

/// The sum of the numbers that stand before one of these words.
pub(super) fn before(words: &[&str], names: &[&str]) -> u64 {
    words
        .windows(2)
        .filter(|pair| names.contains(&pair[1]))
        .filter_map(|pair| pair[0].parse::<u64>().ok())
        .fold(0, u64::saturating_add)
}

pub(super) fn of_words(words: &[&str]) -> Counts {
    Counts {
        passed: before(words, &["passed", "xpassed", "passing", "xfailed"]),
        failed: before(words, &["failed", "error", "errors", "failing"]),
        skipped: before(
            words,
            &["skipped", "ignored", "pending", "todo", "deselected"],
        ),
        packages: false,
    }
}

/// Sums up the lines that a tool marks so; nothing if there are none.
pub(super) fn sum<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Counts> {
    let mut all = None;
    for line in lines {
        let counts: &mut Counts = Option::get_or_insert_default(&mut all);
        counts.add(of_words(&words(line)));
    }
    all
}

/// TAP on standard output: a plan, and tests that are not indented.
fn tap(lines: &[&str]) -> Option<Counts> {
    let is_plan = |line: &&str| {
        line.strip_prefix("1..").is_some_and(|n| {
            n.split([' ', '#'])
                .next()
                .is_some_and(|n| n.parse::<u64>().is_ok())
        })
    };
    if !lines.iter().any(is_plan) {
        return None;
    }
    let mut counts = Counts::default();
    for line in lines {
        let skipped = line.contains("# SKIP") || line.contains("# TODO");
        match line {
            line if skipped && (line.starts_with("ok") || line.starts_with("not ok")) => {
                counts.skipped += 1;
            }
            line if line.starts_with("ok ") || **line == *"ok" => counts.passed += 1,
            line if line.starts_with("not ok") => counts.failed += 1,
            _ => {}
        }
    }
    Some(counts)
}

/// Most tests that a message names.
const MAX_NAMES: usize = 10;
/// Longest name of one, in characters.
const MAX_NAME: usize = 120;

/// The names of tests that have failed by TAP on standard output.
pub(crate) fn failed_names(output: &Tail) -> Vec<String> {
    let text = output.text();
    let names = text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("not ok ")?;
        let name = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let name = name.trim_start().trim_start_matches("- ").trim();
        let counts = !name.contains("# SKIP") && !name.contains("# TODO") && !name.is_empty();
        counts.then(|| name.chars().take(MAX_NAME).collect())
    });
    names.take(MAX_NAMES).collect()
}

/// True for exit codes by which tools report that no test ran, where their output does, too: 5 of
/// pytest and unittest, also behind make; 1 of jest, vitest and mocha.
pub(crate) fn is_code_of_none(code: i32, output: &Tail) -> bool {
    let text = output.text();
    let has = |part: &str| text.contains(part);
    match code {
        5 => has("no tests ran") || has("NO TESTS RAN"),
        2 => has("Error 5") && (has("no tests ran") || has("NO TESTS RAN")),
        1 => {
            has("No tests found, exiting with code 1")
                || has("No test files found, exiting with code 1")
                || has("Error: No test files found")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
