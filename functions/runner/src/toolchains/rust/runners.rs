//! Test runners of Rust, by the closing lines that they print.

use crate::toolchains::counting::{Counts, Runner, sum};

pub(super) static ALL: [Runner; 2] = [
    Runner {
        name: "cargo",
        count: cargo,
        is_final: false,
    },
    Runner {
        name: "nextest",
        count: nextest,
        is_final: false,
    },
];

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
