//! Test runners of Python, by the closing lines that they print.

use crate::toolchains::counting::{Counts, Runner, sum, words};

pub(super) static ALL: [Runner; 2] = [
    Runner {
        name: "pytest",
        count: pytest,
        is_final: true,
    },
    Runner {
        name: "unittest",
        count: unittest,
        is_final: true,
    },
];

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
