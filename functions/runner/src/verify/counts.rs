//! The number of tests of a command, from the last lines of its output, in the format of each known
//! tool. Unknown formats have no count.

use std::fmt;

use crate::output::Tail;

/// What ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    /// True if packages are counted, since the tool does not report their number of tests.
    packages: bool,
}

impl Counts {
    /// True if nothing ran, or all that there is was skipped.
    pub(super) fn none_ran(&self) -> bool {
        self.passed == 0 && self.failed == 0
    }

    fn add(&mut self, other: Counts) {
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
pub(super) fn read(output: &Tail) -> Option<Counts> {
    let text = output.text();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let counts = in_lines(&lines)?;
    // Of several summaries only the last ones may be left.
    (!counts.none_ran() || !output.was_cut() || has_final_summary(&lines)).then_some(counts)
}

/// True if a tool's summary of everything that it ran is there.
fn has_final_summary(lines: &[&str]) -> bool {
    [pytest, unittest, node, jest, vitest, mocha]
        .iter()
        .any(|tool| tool(lines).is_some())
}

/// A tool's counts, if its words are there.
type Tool = fn(&[&str]) -> Option<Counts>;

fn in_lines(lines: &[&str]) -> Option<Counts> {
    let tools: [Tool; 9] = [
        cargo, nextest, unittest, node, go, jest, vitest, mocha, pytest,
    ];
    let mut all: Option<Counts> = None;
    for tool in tools {
        if let Some(counts) = tool(lines) {
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
fn words(line: &str) -> Vec<&str> {
    line.split([' ', '\t', ',', ';', '|', '(', ')', '=', '.'])
        .filter(|word| !word.is_empty())
        .collect()
}

/// The sum of the numbers that stand before one of these words.
fn before(words: &[&str], names: &[&str]) -> u64 {
    words
        .windows(2)
        .filter(|pair| names.contains(&pair[1]))
        .filter_map(|pair| pair[0].parse::<u64>().ok())
        .fold(0, u64::saturating_add)
}

fn of_words(words: &[&str]) -> Counts {
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
fn sum<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Counts> {
    let mut all = None;
    for line in lines {
        let counts: &mut Counts = Option::get_or_insert_default(&mut all);
        counts.add(of_words(&words(line)));
    }
    all
}

/// `test result: ok. 2 passed; 0 failed; 1 ignored; …`
fn cargo(lines: &[&str]) -> Option<Counts> {
    sum(lines
        .iter()
        .filter_map(|line| line.strip_prefix("test result:")))
}

/// `Summary [   0.02s] 2 tests run: 2 passed, 0 skipped`
fn nextest(lines: &[&str]) -> Option<Counts> {
    let summary =
        |line: &&&str| line.contains(" run: ") && line.trim_start().starts_with("Summary [");
    sum(lines.iter().filter(summary).copied())
}

/// `2 failed, 2 passed in 0.05s`, with or without `====`; `no tests ran in 0.01s`.
fn pytest(lines: &[&str]) -> Option<Counts> {
    const KINDS: [&str; 9] = [
        "passed",
        "failed",
        "skipped",
        "error",
        "errors",
        "deselected",
        "xfailed",
        "xpassed",
        "warnings",
    ];
    let is_summary = |line: &&&str| {
        let text = line.trim_matches('=').trim();
        let Some((counts, time)) = text.split_once(" in ") else {
            return false;
        };
        let time = time.split(' ').next().unwrap_or_default();
        let seconds = time
            .strip_suffix('s')
            .is_some_and(|s| s.parse::<f64>().is_ok());
        let counted = counts == "no tests ran"
            || counts.split(", ").all(|part| {
                part.split_once(' ').is_some_and(|(count, kind)| {
                    count.parse::<u64>().is_ok() && (KINDS.contains(&kind) || kind == "warning")
                })
            });
        seconds && counted
    };
    sum(lines.iter().filter(is_summary).copied())
}

/// `Ran 3 tests in 0.001s`, then `OK (skipped=1)` or `FAILED (failures=1, errors=1)`.
fn unittest(lines: &[&str]) -> Option<Counts> {
    let mut all: Option<Counts> = None;
    let mut ran = 0;
    for line in lines {
        let words = words(line);
        if let ["Ran", count, "test" | "tests", "in", ..] = words.as_slice() {
            ran = count.parse().ok()?;
            all.get_or_insert_default().passed += ran;
        } else if let (Some(counts), Some("OK" | "FAILED" | "NO")) =
            (&mut all, words.first().copied())
        {
            let of = |name: &str| {
                let found = words.windows(2).find(|pair| pair[0] == name);
                found
                    .and_then(|pair| pair[1].parse::<u64>().ok())
                    .unwrap_or(0)
            };
            let failed = of("failures") + of("errors");
            let not_passed = (failed + of("skipped")).min(ran);
            counts.passed = counts.passed.saturating_sub(not_passed);
            counts.failed += failed;
            counts.skipped += of("skipped");
            ran = 0;
        }
    }
    all
}

/// `# tests 4`, `# pass 3`, or the same behind `ℹ`.
fn node(lines: &[&str]) -> Option<Counts> {
    let value = |name: &str| {
        let values = lines.iter().filter_map(|line| {
            let rest = line.trim_start();
            let rest = rest
                .strip_prefix("# ")
                .or_else(|| rest.strip_prefix("ℹ "))?;
            rest.strip_prefix(name)?
                .strip_prefix(' ')?
                .parse::<u64>()
                .ok()
        });
        values.reduce(u64::saturating_add)
    };
    let tests = value("tests")?;
    let (passed, failed) = (value("pass")?, value("fail")?);
    let cancelled = value("cancelled").unwrap_or(0);
    let failed = failed.saturating_add(cancelled);
    Some(Counts {
        passed,
        failed,
        skipped: tests.saturating_sub(passed.saturating_add(failed)),
        packages: false,
    })
}

/// Packages, or tests where they are named (`-v`).
fn go(lines: &[&str]) -> Option<Counts> {
    let starts = |with: &str| {
        let lines = lines
            .iter()
            .filter(|line| line.trim_start().starts_with(with));
        lines.count() as u64
    };
    let tests = Counts {
        passed: starts("--- PASS: "),
        failed: starts("--- FAIL: "),
        skipped: starts("--- SKIP: "),
        packages: false,
    };
    let mut packages = Counts {
        packages: true,
        ..Counts::default()
    };
    let mut speaks = false;
    for line in lines {
        let is_ok = line.starts_with("ok  \t");
        let has_none = line.contains("[no tests to run]") || line.contains("[no test files]");
        speaks |= is_ok || line.starts_with("FAIL\t") || (line.starts_with("?   \t") && has_none);
        packages.passed += u64::from(is_ok && !has_none);
        packages.failed += u64::from(line.starts_with("FAIL\t"));
    }
    let named = tests != Counts::default();
    speaks.then_some(if named { tests } else { packages })
}

/// `Tests:       1 failed, 3 passed, 4 total`
fn jest(lines: &[&str]) -> Option<Counts> {
    if lines
        .iter()
        .any(|line| line.starts_with("No tests found, exiting with code"))
    {
        return Some(Counts::default());
    }
    sum(lines.iter().filter_map(|line| line.strip_prefix("Tests:")))
}

/// `      Tests  1 failed | 3 passed (4)`
fn vitest(lines: &[&str]) -> Option<Counts> {
    if lines
        .iter()
        .any(|line| line.starts_with("No test files found, exiting with code"))
    {
        return Some(Counts::default());
    }
    let tests = |line: &&&str| line.trim_start().starts_with("Tests  ");
    sum(lines.iter().filter(tests).copied())
}

/// `  3 passing (10ms)`, `  1 failing`
fn mocha(lines: &[&str]) -> Option<Counts> {
    if lines
        .iter()
        .any(|line| line.starts_with("Error: No test files found"))
    {
        return Some(Counts::default());
    }
    let is_count = |line: &&&str| match words(line).as_slice() {
        [count, "passing" | "failing" | "pending"] => count.parse::<u64>().is_ok(),
        [count, "passing", time] => count.parse::<u64>().is_ok() && time.ends_with('s'),
        _ => false,
    };
    let has_passing = |line: &&str| words(line).get(1) == Some(&"passing");
    let counts = sum(lines.iter().filter(is_count).copied())?;
    lines
        .iter()
        .filter(|line| is_count(line))
        .any(has_passing)
        .then_some(counts)
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
pub(super) fn failed_names(output: &Tail) -> Vec<String> {
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
pub(super) fn is_code_of_none(code: i32, output: &Tail) -> bool {
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
