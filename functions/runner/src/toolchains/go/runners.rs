//! Test runners of Go, by the closing lines that they print.

use crate::toolchains::counting::{Counts, Runner};

pub(super) static ALL: [Runner; 1] = [Runner {
    name: "go",
    count: go,
    is_final: false,
}];

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
