//! Test runners of what has no toolchain of its own: shells, Swift, Dart and others; and the Test
//! Anything Protocol.

use super::Runner;
use super::pattern::{
    Line,
    Role::{Anchor, Failed, First, Last, Name, None, Passed, Skipped, Whole},
};

pub(super) static ALL: [Runner; 10] = [
    Runner::new("task runners", &[], &TASK_RUNNERS),
    Runner::new("bats", &[1], &BATS),
    Runner::new("shunit2", &[], &SHUNIT2),
    Runner::new("xctest", &[], &XCTEST),
    Runner::new("swift testing", &[], &SWIFT_TESTING),
    Runner::new("dart", &[79], &DART),
    Runner::new("busted", &[], &BUSTED),
    Runner::new("tasty", &[], &TASTY),
    Runner::new("tap", &[], &TAP).of_last_resort(),
    Runner::new("script", &[], &SCRIPT).of_last_resort(),
];

/// `3 tests, 1 failure, 1 skipped`, where a terminal is there; else TAP.
static BATS: [Line; 2] = [
    Line(
        Whole,
        "^{total} tests?, {failed} failures?(?:, {skipped} skipped)?(?:, {skipped} not run)?(?: in .*)?$",
    ),
    Line(Name, "^ ✗ {name}$"),
];

/// `Ran 3 tests.`, then `OK` or `FAILED (failures=1)`
static SHUNIT2: [Line; 3] = [
    Line(First, r"^Ran {total} tests?\.$"),
    Line(Last, r"^OK(?: \({pairs}\))?$"),
    Line(Last, r"^FAILED \({pairs}\)$"),
];

/// `Executed 3 tests, with 1 failure (0 unexpected) in 0.1 (0.2) seconds`, of all suites.
static XCTEST: [Line; 3] = [
    Line(
        First,
        "^Test Suite '(?:All tests|Selected tests)' (?:passed|failed) at .*$",
    ),
    Line(
        Last,
        r"^\t? *Executed {total} tests?, with (?:{skipped} tests? skipped and )?{failed} failures? \({n} unexpected\) in .*$",
    ),
    Line(Name, r"^Test Case '{name}' failed \({s} seconds\)\.?$"),
];

/// `✔ Test run with 3 tests in 1 suite passed after 0.001 seconds.`
static SWIFT_TESTING: [Line; 5] = [
    Line(
        Whole,
        r"^(?:[^ ]+ )?Test run with {passed} tests?(?: in {n} suites?)? passed after .*$",
    ),
    Line(
        Whole,
        r"^(?:[^ ]+ )?Test run with {total} tests?(?: in {n} suites?)? failed after .* with {failed} issues?\.$",
    ),
    Line(
        Failed,
        r#"^(?:[^ ]+ )?Test (?P<name>[^ ]+\(.*\)|".*") failed after .* with {n} issues?\.$"#,
    ),
    Line(
        Passed,
        r#"^(?:[^ ]+ )?Test (?P<name>[^ ]+\(.*\)|".*") passed after {s} seconds\.$"#,
    ),
    Line(
        Skipped,
        r#"^(?:[^ ]+ )?Test (?P<name>[^ ]+\(.*\)|".*") skipped(?:\.|: .*)$"#,
    ),
];

/// `00:01 +2 ~1 -1: Some tests failed.`; also Flutter.
static DART: [Line; 4] = [
    Line(
        Whole,
        r"^[0-9:]+ \+{passed}(?: ~{skipped})?(?: -{failed})?: (?:All tests passed!|All tests skipped\.|Some tests failed\.)$",
    ),
    Line(None, r"^No tests ran\.$"),
    Line(None, r"^No tests match .*\.$"),
    Line(
        Name,
        r"^[0-9:]+ \+[0-9]+(?: ~[0-9]+)?(?: -[0-9]+)?: {name} \[E\]$",
    ),
];

/// `3 successes / 1 failure / 0 errors / 0 pending : 0.001 seconds`
static BUSTED: [Line; 2] = [
    Line(
        Whole,
        "^{passed} success(?:es)? / {failed} failures? / {failed} errors? / {skipped} pending : {s} seconds$",
    ),
    Line(Name, "^Failure → .* @ [0-9]+$"),
];

/// `1 out of 3 tests failed (0.00s)`
static TASTY: [Line; 2] = [
    Line(Whole, r"^All {passed} tests passed \({s}s\)$"),
    Line(Whole, r"^{failed} out of {total} tests failed \({s}s\)$"),
];

/// The Test Anything Protocol on standard output: a plan, and tests that are not indented.
static TAP: [Line; 7] = [
    Line(None, "^1\\.\\.0(?: .*)?$"),
    Line(Anchor, "^1\\.\\.[0-9]+(?: .*)?$"),
    Line(Passed, "^ok(?: [^#]*)?(?:# time=.*)?$"),
    Line(
        Failed,
        "^not ok *(?:[0-9]+)? *(?:- )?(?P<name>[^#]*)(?:# time=.*)?$",
    ),
    Line(Skipped, "^(?:not )?ok [^#]*# *(?:SKIP|TODO|skip|todo).*$"),
    Line(
        Name,
        "^ +not ok *(?:[0-9]+)? *(?:- )?(?P<name>[^# ][^#]*)(?:# time=.*)?$",
    ),
    Line(Anchor, "^TAP version 1[0-9]$"),
];

/// `12/12 tests successful`, `12 passed, 0 failed`: the words of scripts that count for themselves.
static SCRIPT: [Line; 4] = [
    Line(
        Whole,
        r"^{passed}/{total} tests? (?:successful|succeeded|passed|ok)[.!]?$",
    ),
    Line(
        Whole,
        r"^[Pp]ass(?:ed)?:? {passed}, [Ff]ail(?:ed)?:? {failed}[.!]?$",
    ),
    Line(
        Whole,
        r"^(?:[A-Za-z]+: )?{passed} passed, {failed} failed(?:, {skipped} skipped)?[.!]?$",
    ),
    Line(
        Whole,
        r"^(?:[A-Za-z]+: )?{passed} tests? passed, {failed} (?:tests? )?failed(?:, {skipped} (?:tests? )?skipped)?[.!]?$",
    ),
];

/// Task runners that found nothing to run.
static TASK_RUNNERS: [Line; 5] = [
    Line(
        None,
        r"^ *WARNING  No tasks were executed as part of this run\.$",
    ),
    Line(
        None,
        r"^make(?:\[{n}\])?: Nothing to be done for '[^']*tests?'\.$",
    ),
    Line(
        None,
        "^lerna (?:info|notice) .*No packages (?:found with|remain).*$",
    ),
    Line(None, "^ *NX +No tasks were run$"),
    Line(None, "^No projects matched the filters .*$"),
];
