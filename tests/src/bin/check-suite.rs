//! After the tests: reports what they did not cover. `check-suite LOG ANSWERS CALLS`, where LOG is
//! the output of `cargo test`, ANSWERS the responses that the tests' client recorded
//! (`AWO_ANSWERS_FILE`), and CALLS the functions' AWS calls that the stand-ins recorded
//! (`AWO_CALLS_FILE`).
//!
//! - Each status that the OpenAPI document has for an operation was returned by it, and the
//!   response matched the document.
//! - Each rule of `tests/rules.md` has tests, and they ran and passed. A test without its tool
//!   chain prints `not shown: NAME, since …`, and does not count.
//! - Each function made every AWS call that its policies allow, and no other.
//!
//! `check-suite LOG` does the same for `make test-agents` and the rules of `tests/agents/rules.md`. Tests
//! whose names begin with `AWO_LEFT_OUT` were left out, since this machine lacks their programs.

#![expect(
    clippy::expect_used,
    reason = "a check that cannot go on says so and ends"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use awo_tests::contract;
use awo_tests::privileges::{self, EXCUSES, Template};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let (rules, log, noted) = match arguments.as_slice() {
        [_, log, answers, calls] => ("rules.md", log, Some((answers, calls))),
        [_, log] => ("agents/rules.md", log, None),
        _ => {
            eprintln!("usage: check-suite LOG [ANSWERS CALLS]");
            return ExitCode::FAILURE;
        }
    };
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let own = |path: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        std::fs::read_to_string(path).expect("a file of the repository")
    };
    let rules = own(rules);
    let mut faults = not_shown(&rules, &read(log));
    let template = Template::parse(&own("../template.yaml"));
    if let Some((answers, calls)) = noted {
        faults.extend(never_answered(&read(answers)));
        faults.extend(privileges::faults(&template, &read(calls), EXCUSES));
    }
    for fault in &faults {
        eprintln!("{fault}");
    }
    if !faults.is_empty() {
        eprintln!("the tests leave {} things open", faults.len());
        return ExitCode::FAILURE;
    }
    if noted.is_some() {
        let pairs = contract::documented().len();
        println!("{pairs} pairs of operation and status were answered as documented");
        let functions = template.functions.len();
        println!("{functions} functions were allowed what they asked of AWS, and nothing else");
    }
    println!("{} rules were shown", items(&rules).count());
    ExitCode::SUCCESS
}

/// The documented pairs of operation and status that no test saw.
fn never_answered(answers: &str) -> Vec<String> {
    let seen: BTreeSet<(String, u16)> = answers
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(function, status)| Some((function.to_owned(), status.parse().ok()?)))
        .collect();
    let documented = contract::documented();
    let missing = documented.difference(&seen);
    missing
        .map(|(function, status)| {
            format!("{function} never answered {status}, which is documented")
        })
        .collect()
}

/// The rules without a test that ran and passed.
fn not_shown(rules: &str, log: &str) -> Vec<String> {
    let skipped = |line: &str| {
        Some(
            line.strip_prefix("not shown: ")?
                .split_once(',')?
                .0
                .to_owned(),
        )
    };
    let skipped: BTreeSet<String> = log.lines().filter_map(skipped).collect();
    let passed: BTreeSet<&str> = log
        .lines()
        // What a process of a test prints may stand before it on the same line.
        .filter_map(|line| line.strip_suffix(" ... ok")?.rsplit_once("test "))
        .map(|(_, test)| test)
        .filter(|test| !skipped.contains(*test))
        .collect();
    let mut faults = Vec::new();
    for item in items(rules) {
        let tests: Vec<&str> = tests_of(&item).collect();
        if tests.is_empty() {
            faults.push(format!("no test shows this rule: {item}"));
        }
        let left_out = std::env::var("AWO_LEFT_OUT").ok();
        let is_left_out = |test: &str| left_out.as_deref().is_some_and(|of| test.starts_with(of));
        let open = tests.iter().filter(|test| !passed.contains(**test));
        let open = open.filter(|test| !is_left_out(test));
        faults.extend(open.map(|test| format!("{test} did not run and pass; it shows: {item}")));
    }
    faults
}

/// The items of a Markdown list, each as one line.
fn items(rules: &str) -> impl Iterator<Item = String> {
    let mut items: Vec<String> = Vec::new();
    for line in rules.lines() {
        match (line.strip_prefix("- "), line.strip_prefix("  ")) {
            (Some(first), _) => items.push(first.to_owned()),
            (None, Some(more)) if !items.is_empty() => {
                if let Some(item) = items.last_mut() {
                    item.push(' ');
                    item.push_str(more.trim());
                }
            }
            _ => {}
        }
    }
    items.into_iter()
}

/// The names of tests in an item: what stands in backticks and has a `::`.
fn tests_of(item: &str) -> impl Iterator<Item = &str> {
    let quoted = item.split('`').skip(1).step_by(2);
    quoted.filter(|text| text.contains("::"))
}
