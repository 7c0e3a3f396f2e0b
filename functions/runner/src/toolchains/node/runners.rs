//! Test runners of Node.js, by the closing lines that they print.

use crate::toolchains::counting::{Counts, Runner, sum, words};

pub(super) static ALL: [Runner; 4] = [
    Runner {
        name: "node",
        count: node,
        is_final: true,
    },
    Runner {
        name: "jest",
        count: jest,
        is_final: true,
    },
    Runner {
        name: "vitest",
        count: vitest,
        is_final: true,
    },
    Runner {
        name: "mocha",
        count: mocha,
        is_final: true,
    },
];

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
