//! Evidence of a command's tests: its report, else its test runner's own closing lines, else its exit
//! code.

use awo_domain::verification::{Check, CheckTests, Evidence, Status, TestCounts, TestSource};

use super::commands::Ran;
use super::findings::{self, Findings};
use super::{check, took};
use crate::contained_process::{End, FinishedCommand};
use crate::toolchains::counting::{Counts, TestSummary};

/// The check that stands beside a command that ran no test.
const NO_TESTS: &str = "no tests ran";

impl From<Counts> for TestCounts {
    fn from(counts: Counts) -> TestCounts {
        TestCounts {
            passed: counts.passed,
            failed: counts.failed,
            skipped: counts.skipped,
        }
    }
}

/// The outcome of a command with a report.
pub(super) fn by_report(
    own: Check,
    path: &str,
    findings: Findings,
    finished: &FinishedCommand,
    is_test: bool,
    most: usize,
) -> Ran {
    let counts = findings.test_counts();
    let tests = is_test.then(|| CheckTests::counted(counts, TestSource::Report));
    if is_test && findings.none_ran() && own.status.passes() {
        let message = format!("{path} names {}; {}", findings.counts(), own.message);
        return no_tests(own, tests, &message);
    }
    let name = own.name.clone();
    let mut own = with_report(own, path, &findings, finished);
    own.tests = tests;
    let evidence = evidence(&own, counts);
    let mut checks = vec![own];
    checks.extend(findings.checks(&name, most));
    Ran {
        evidence: if is_test { evidence } else { Evidence::None },
        tests: if is_test {
            counts
        } else {
            TestCounts::default()
        },
        ..checks.into()
    }
}

/// The outcome of a command without a report. `is_named`: a command without a count is a test because
/// the plan's author names it so.
pub(super) fn by_output(
    mut own: Check,
    counted: TestSummary,
    finished: &FinishedCommand,
    run: &str,
    is_test: bool,
    is_named: bool,
    most: usize,
) -> Ran {
    if !is_test {
        return own.into();
    }
    let Some(counts) = counted.counts else {
        own.tests = Some(CheckTests::UNCOUNTED);
        return by_exit_code(own, is_named);
    };
    let tests = Some(CheckTests::counted(counts.into(), TestSource::Summary));
    let message = format!("{counts}; {}", own.message);
    let is_none = matches!(finished.end, End::Exited(code) if counted.is_none_by(code));
    if is_none && own.status != Status::Error {
        return no_tests(own, tests, &message);
    }
    let own = Check {
        message,
        tests,
        ..own
    };
    let own = against_summary(own, counts.failed, run);
    let name = own.name.clone();
    let is_failed = own.status == Status::Failed;
    let mut ran = Ran {
        evidence: evidence(&own, counts.into()),
        tests: counts.into(),
        ..Ran::from(own)
    };
    if is_failed {
        let names = &counted.failed_names;
        ran.checks
            .extend(findings::failed_tests(&name, names, counts.failed, most));
    }
    ran
}

/// Endings of a command that discards the exit code of what is before, in the plan's own words.
const DISCARDS: [&str; 3] = ["|| true", "|| :", "|| exit 0"];

/// The check of a command that succeeds although its own closing lines name failures: it fails, and is a
/// warning where the plan itself discards the exit code.
fn against_summary(own: Check, failed: u64, run: &str) -> Check {
    if own.status != Status::Passed || failed == 0 {
        return own;
    }
    let is_discarded = DISCARDS
        .iter()
        .any(|ending| run.trim_end().ends_with(ending));
    let (status, remedy) = if is_discarded {
        let remedy = "the plan discards the exit code, so it is no evidence of tests";
        (Status::Warning, remedy)
    } else {
        let remedy = "have the command fail with its tests, or end it with `|| true` in verify.yaml if \
                      they may fail";
        (Status::Failed, remedy)
    };
    Check {
        message: format!(
            "exit code 0, but its own summary names failures: {}; {remedy}",
            own.message
        ),
        status,
        ..own
    }
}

/// A command without a count: its exit code is evidence if the plan's author named it as a test.
fn by_exit_code(mut own: Check, is_named: bool) -> Ran {
    let evidence = match own.status {
        Status::Passed if is_named => Evidence::ExitCode,
        Status::Passed => {
            own.status = Status::Warning;
            own.message = format!(
                "{}, but no number of tests was seen in its output: name the command in \
                 verify.yaml, with a report if it writes one",
                own.message
            );
            Evidence::None
        }
        _ => Evidence::None,
    };
    Ran {
        evidence,
        ..own.into()
    }
}

fn evidence(own: &Check, counts: TestCounts) -> Evidence {
    if own.status == Status::Passed && counts.passed > 0 {
        Evidence::Counted
    } else {
        Evidence::None
    }
}

/// Zero tests are never a success: the command's check is a warning, and one more gives the reason.
fn no_tests(own: Check, tests: Option<CheckTests>, message: &str) -> Ran {
    let name = own.name;
    let why = format!("{name} ran no test: add tests, or correct the command");
    let mut own = check(&name, Status::Warning, &format!("{NO_TESTS}: {message}"));
    own.tests = tests;
    let counts = tests.map(CheckTests::counts).unwrap_or_default();
    Ran {
        tests: counts,
        ..vec![own, check(NO_TESTS, Status::Warning, &why)].into()
    }
}

/// A report that is missing is no news of a command that failed, and the end of one that did not.
pub(super) fn without_report(own: Check, path: &str, why: &str) -> Check {
    if own.status == Status::Passed {
        let message = format!("exit code 0, but its report is not reliable: {path} {why}");
        check(&own.name, Status::Error, &message)
    } else {
        let message = format!("{path} {why}; {}", own.message);
        check(&own.name, own.status, &message)
    }
}

fn with_report(own: Check, path: &str, findings: &Findings, finished: &FinishedCommand) -> Check {
    let counts = format!("{path} names {}", findings.counts());
    let (status, message) = match own.status {
        Status::Passed if findings.failed > 0 => (
            Status::Failed,
            format!("exit code 0 {}, but {counts}", took(finished)),
        ),
        Status::Passed => (Status::Passed, format!("{counts} {}", own.message)),
        status if findings.failed == 0 => {
            let message = format!("though {counts}, it did not succeed: {}", own.message);
            (status, message)
        }
        status => (status, format!("{counts}; {}", own.message)),
    };
    check(&own.name, status, &message)
}
