//! Test runners of Java and of what else runs on its machine, by the lines that they print.

use crate::toolchains::counting::{
    Line,
    Role::{Anchor, Failed, First, ListStart, Listed, Name, None, Part, Passed, Skipped, Whole},
    Runner,
};

pub(super) static ALL: [Runner; 8] = [
    Runner::new("maven", &[1], &MAVEN).covering(&["testng", "junit", "junit console"]),
    Runner::new("gradle", &[1], &GRADLE),
    Runner::new("junit console", &[2], &JUNIT_CONSOLE),
    Runner::new("junit", &[], &JUNIT),
    Runner::new("testng", &[2], &TESTNG),
    Runner::new("sbt", &[], &SBT).covering(&["scalatest"]),
    Runner::new("scalatest", &[], &SCALATEST),
    Runner::new("clojure", &[], &CLOJURE),
];

/// `[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0`; with a time it is a single class.
static MAVEN: [Line; 5] = [
    Line(
        Whole,
        r"^(?:\[(?:INFO|WARNING|ERROR)\] +)?Tests run: +{total}, Failures: +{failed}, Errors: +{failed}, Skipped: +{skipped}(?:, Flakes: +{n})?$",
    ),
    Line(None, r"^(?:\[INFO\] +)?No tests to run\.$"),
    Line(None, r"^(?:\[INFO\] +)?Tests are skipped\.$"),
    Line(
        None,
        r"^\[ERROR\] .*No tests (?:matching pattern .* )?were executed!.*$",
    ),
    Line(
        Name,
        r"^(?:\[ERROR\] )?  (?P<name>[A-Z][\w$]*(?:\.[\w$]+)+)(?::[0-9]+|[ :]).*$",
    ),
];

/// A line for each test, where a build shows them; else only what failed.
static GRADLE: [Line; 8] = [
    Line(
        Whole,
        "^{total} tests? completed(?:, {failed} failed)?(?:, {skipped} skipped)?$",
    ),
    Line(
        Whole,
        r"^(?:SUCCESS|FAILURE): Executed {total} tests? in [^(]*(?:\({list}\))?$",
    ),
    Line(
        None,
        "^(?:> Task )?:(?:[^ ]+:)?[A-Za-z_-]*[tT]est NO-SOURCE$",
    ),
    Line(None, "^> No tests found for given includes: .*$"),
    Line(Anchor, "^BUILD (?:SUCCESSFUL|FAILED) in .*$"),
    Line(Passed, "^[^ >].* > .*[^ ] PASSED(?: \\(.*\\))?$"),
    Line(Failed, "^(?P<name>[^ >].* > .*[^ ]) FAILED(?: \\(.*\\))?$"),
    Line(Skipped, "^[^ >].* > .*[^ ] SKIPPED$"),
];

/// `[         3 tests successful      ]`
static JUNIT_CONSOLE: [Line; 5] = [
    Line(First, r"^\[ *{n} tests found +\]$"),
    Line(Part, r"^\[ *{skipped} tests (?:skipped|aborted) +\]$"),
    Line(Part, r"^\[ *{passed} tests successful +\]$"),
    Line(Part, r"^\[ *{failed} tests failed +\]$"),
    Line(Name, "^  (?P<name>JUnit [^ :]+:[^ ].*)$"),
];

/// `OK (3 tests)`
static JUNIT: [Line; 4] = [
    Line(Whole, r"^OK \({passed} tests?\)$"),
    Line(Whole, "^Tests run: {total},  Failures: {failed}$"),
    Line(ListStart, "^There (?:was|were) {n} failures?:$"),
    Line(Listed, r"^[0-9]+\) (?P<name>[^ ]+\([^ ]+\))$"),
];

/// `Total tests run: 3, Passes: 2, Failures: 1, Skips: 0`
static TESTNG: [Line; 3] = [
    Line(
        Whole,
        "^Total tests run: {total}, (?:Passes: {passed}, )?Failures: {failed}, Skips: {skipped}$",
    ),
    Line(Name, "^FAILED: {name}$"),
    Line(None, r"^\[TestNG\] No tests found\. Nothing was run$"),
];

/// `[info] Passed: Total 3, Failed 0, Errors 0, Passed 3`
static SBT: [Line; 3] = [
    Line(
        Whole,
        r"^\[(?:info|error)\] (?:Passed|Failed|Error): Total {n}, Failed {failed}, Errors {failed}, Passed {passed}(?:, Skipped {skipped}|, Ignored {skipped}|, Canceled {skipped}|, Pending {skipped})*$",
    ),
    Line(None, r"^\[info\] No tests were executed\.?$"),
    Line(None, r"^\[info\] No tests to run for .*$"),
];

/// `[info] Tests: succeeded 3, failed 0, canceled 0, ignored 0, pending 0`; mill prints it without `[info]`.
static SCALATEST: [Line; 2] = [
    Line(
        Whole,
        r"^(?:\[(?:info|error)\] )?Tests: succeeded {passed}, failed {failed}, canceled {skipped}, ignored {skipped}, pending {skipped}$",
    ),
    Line(
        Name,
        r"^(?:\[(?:info|error)\] )?- {name} \*\*\* FAILED \*\*\*.*$",
    ),
];

/// `Ran 3 tests containing 5 assertions.`, `1 failures, 0 errors.`
static CLOJURE: [Line; 3] = [
    Line(First, r"^Ran {total} tests containing {n} assertions\.$"),
    Line(Part, r"^{failed} failures, {failed} errors\.$"),
    Line(Name, r"^(?:FAIL|ERROR) in (?P<name>\([^)]*\)) \([^)]*\)$"),
];
