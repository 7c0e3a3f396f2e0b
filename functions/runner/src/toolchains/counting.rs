//! The tests of a command, counted while its output comes: each runner is known by the lines with which it
//! closes. Colours do not matter, nor what a wrapper puts in front of lines. Unknown formats have no
//! count.

mod exit_codes;
mod lines;
mod others;
mod pattern;
mod prefixes;
mod tally;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::contained_process::Listener;
use crate::live_output::Stream;

use exit_codes::ExitCodes;
use lines::Lines;
pub(super) use pattern::{Line, Role};
use pattern::{MATCHER, Match};
use tally::{Sum, Tally};

/// Most parts of an output that are counted apart from each other by what stands in front of their lines.
const MAX_GROUPS: usize = 500;
/// Most failing tests that are named.
pub(crate) const MAX_NAMES: usize = 50;
/// Exit codes that runners have for failures of any kind.
const FAILURE_CODES: [i32; 3] = [1, 2, 101];
/// Tools that count what they run, and print nothing at all where there is nothing.
const SILENT_TOOLS: [&str; 6] = ["tape", "tap", "mocha", "jest", "vitest", "ava"];

/// Numbers of tests by their outcome.
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

    fn total(&self) -> u64 {
        self.passed
            .saturating_add(self.failed)
            .saturating_add(self.skipped)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.total();
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

/// A test runner, known by the lines that it prints.
pub(crate) struct Runner {
    /// Name of the program or library.
    pub(crate) name: &'static str,
    /// Exit codes by which it reports that no test ran.
    none_codes: &'static [i32],
    lines: &'static [Line],
    /// Runners whose output it repeats: where it counts, they do not.
    covers: &'static [&'static str],
    /// True if it counts only where no other runner does.
    is_last_resort: bool,
}

impl Runner {
    pub(super) const fn new(
        name: &'static str,
        none_codes: &'static [i32],
        lines: &'static [Line],
    ) -> Runner {
        Runner {
            name,
            none_codes,
            lines,
            covers: &[],
            is_last_resort: false,
        }
    }

    pub(super) const fn covering(self, covers: &'static [&'static str]) -> Runner {
        Runner { covers, ..self }
    }

    /// Exit codes for none. Codes that it has for failures, too, count only where its words leave no
    /// doubt: a file of tests that cannot be loaded has no test, either.
    fn none_codes_with(&self, says_none: bool) -> impl Iterator<Item = i32> {
        let codes = self.none_codes.iter().copied();
        codes.filter(move |code| says_none || !FAILURE_CODES.contains(code))
    }

    const fn of_last_resort(self) -> Runner {
        Runner {
            is_last_resort: true,
            ..self
        }
    }
}

/// All known runners, in the order in which they may take a line.
fn runners() -> impl Iterator<Item = &'static Runner> {
    let of_languages = super::all().flat_map(|toolchain| toolchain.runners);
    of_languages.chain(&others::ALL)
}

/// The tests of a command, by its output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TestSummary {
    /// Absent if no known runner has closed.
    pub(crate) counts: Option<Counts>,
    /// Failing tests, the first of them.
    pub(crate) failed_names: Vec<String>,
    /// Exit codes by which a runner that is behind it reports that no test ran.
    none_codes: Vec<i32>,
}

impl TestSummary {
    /// True if the output reports that no test ran, with an exit code that fits.
    pub(crate) fn is_none_by(&self, code: i32) -> bool {
        let none_ran = self.counts.is_some_and(|counts| counts.none_ran());
        none_ran && (code == 0 || self.none_codes.contains(&code))
    }
}

/// Counts the tests in an output while it comes.
#[derive(Debug, Default)]
pub(crate) struct Counter(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    lines: [Lines; 2],
    number: u64,
    /// By what stands in front of their lines.
    groups: BTreeMap<String, Group>,
    exit_codes: ExitCodes,
    last_line: String,
}

/// By the runner's number.
type Group = BTreeMap<usize, Tally>;

impl Listener for Counter {
    fn append(&self, stream: Stream, bytes: &[u8]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        let mut lines = std::mem::take(&mut state.lines[stream as usize]);
        lines.push(bytes, |line| state.line(line));
        state.lines[stream as usize] = lines;
    }
}

impl Counter {
    /// The tests, once the output is complete.
    pub(crate) fn counted(self) -> TestSummary {
        let mut state = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        for mut lines in std::mem::take(&mut state.lines) {
            lines.end(|line| state.line(line));
        }
        state.counted()
    }
}

impl State {
    fn line(&mut self, line: &str) {
        self.number += 1;
        let text = line.trim_end();
        if text.is_empty() {
            return;
        }
        text.clone_into(&mut self.last_line);
        self.exit_codes.line(text);
        for (prefix, rest) in prefixes::splits(text) {
            let mut is_taken = false;
            for found in MATCHER.matches(rest) {
                if is_taken && found.role.is_summary() {
                    continue;
                }
                is_taken |= self.apply(prefix, &found) && found.role.is_summary();
            }
            // A line belongs to one part of the output.
            if is_taken {
                return;
            }
        }
    }

    /// True if the line meant something there.
    fn apply(&mut self, prefix: &str, found: &Match<'_>) -> bool {
        if let Some(group) = self.groups.get_mut(prefix)
            && let Some(tally) = group.get_mut(&found.runner)
        {
            return tally.apply(found, self.number);
        }
        let mut tally = Tally::default();
        if !tally.apply(found, self.number) {
            return false;
        }
        if self.groups.len() == MAX_GROUPS && !self.groups.contains_key(prefix) {
            return false;
        }
        let group = self.groups.entry(prefix.to_owned()).or_default();
        group.insert(found.runner, tally);
        true
    }

    fn counted(self) -> TestSummary {
        let table: Vec<&Runner> = runners().collect();
        let mut counted = TestSummary::default();
        let mut codes = Vec::new();
        for group in self.groups.into_values() {
            for (runner, sum) in of_group(&table, group) {
                counted.counts.get_or_insert_default().add(sum.counts);
                if sum.counts.none_ran() {
                    codes.extend(runner.none_codes_with(sum.says_none));
                }
                for name in sum.names {
                    let is_new = !counted.failed_names.contains(&name);
                    if is_new && counted.failed_names.len() < MAX_NAMES {
                        counted.failed_names.push(name);
                    }
                }
            }
        }
        if counted.counts.is_none() && is_silent(&self.last_line) {
            counted.counts = Some(Counts::default());
        }
        counted.none_codes = self.exit_codes.with_wrappers(codes);
        counted
    }
}

/// The runners that count in one part of an output, with their tests.
fn of_group(table: &[&'static Runner], group: Group) -> Vec<(&'static Runner, Sum)> {
    let all: Vec<(&Runner, Sum)> = group
        .into_iter()
        .filter_map(|(number, tally)| Some((*table.get(number)?, tally.finish()?)))
        .collect();
    let covered: Vec<&str> = all
        .iter()
        .flat_map(|(runner, _)| runner.covers.iter().copied())
        .collect();
    let (mut rest, last): (Vec<_>, Vec<_>) = all
        .into_iter()
        .filter(|(runner, _)| !covered.contains(&runner.name))
        .partition(|(runner, _)| !runner.is_last_resort);
    match rest.first_mut() {
        None => return last,
        // TAP has the names where its producer's own summary has none.
        Some((_, sum)) if sum.names.is_empty() => {
            sum.names
                .extend(last.into_iter().flat_map(|(_, sum)| sum.names));
        }
        Some(_) => {}
    }
    rest
}

/// `> tape test/*.js`, as npm announces a script, and nothing after it.
fn is_silent(last_line: &str) -> bool {
    let script = last_line.strip_prefix("> ").unwrap_or_default();
    script.split(' ').any(|word| SILENT_TOOLS.contains(&word))
}

#[cfg(test)]
mod tests;
