//! Test runners of .NET, by the lines that they print.

use crate::toolchains::counting::{
    Line,
    Role::{First, Name, None, Part, Whole},
    Runner,
};

pub(super) static ALL: [Runner; 6] = [
    Runner::new("dotnet test", &[1], &VSTEST).covering(&["xunit console"]),
    Runner::new("terminal logger", &[1], &TERMINAL_LOGGER).covering(&[
        "dotnet test",
        "testing platform",
        "xunit console",
    ]),
    Runner::new("testing platform", &[8], &TESTING_PLATFORM).covering(&["xunit console"]),
    Runner::new("xunit console", &[], &XUNIT_CONSOLE),
    Runner::new("nunit console", &[], &NUNIT_CONSOLE),
    Runner::new("expecto", &[], &EXPECTO),
];

/// `Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 5 ms - a.dll (net8.0)`
static VSTEST: [Line; 9] = [
    Line(
        Whole,
        "^(?:Passed|Failed|Skipped)! +- Failed: +{failed}, Passed: +{passed}, Skipped: +{skipped}, Total: +{n}(?:, Duration: .*)?$",
    ),
    Line(First, "^Total tests: +{total}$"),
    Line(Part, "^ *Passed *: +{passed}$"),
    Line(Part, "^ *Failed *: +{failed}$"),
    Line(Part, "^ *Skipped *: +{skipped}$"),
    Line(None, "^No test matches the given testcase filter .*$"),
    Line(None, "^No test is available in .*$"),
    Line(Name, r"^ +Failed (?P<name>[^ ].*?) \[[^\]]*\]$"),
    Line(Name, r"^\[xUnit\.net [0-9:.]+\] +{name} \[FAIL\]$"),
];

/// `Test summary: total: 3, failed: 1, succeeded: 2, skipped: 0, duration: 1.2s`
static TERMINAL_LOGGER: [Line; 1] = [Line(
    Whole,
    "^Test summary: total: {n}, failed: {failed}, succeeded: {passed}, skipped: {skipped}, duration: .*$",
)];

/// `Test run summary: Failed!`, `  total: 3`, `  failed: 1`, …
static TESTING_PLATFORM: [Line; 5] = [
    Line(First, "^Test run summary: .*$"),
    Line(Part, "^ +total: {total}$"),
    Line(Part, "^ +failed: {failed}$"),
    Line(Part, "^ +skipped: {skipped}$"),
    Line(Name, r"^failed (?P<name>[^ ].*?) \({s}m?s.*\)$"),
];

/// `   a  Total: 3, Errors: 0, Failed: 1, Skipped: 0, Time: 0.1s`
static XUNIT_CONSOLE: [Line; 2] = [
    Line(
        Whole,
        "^ +[^ ]+ +Total: {total}, Errors: {failed}, Failed: {failed}, Skipped: {skipped}(?:, Not Run: {skipped})?, Time: .*$",
    ),
    Line(Name, r"^ +{name} \[FAIL\]$"),
];

/// `  Test Count: 3, Passed: 2, Failed: 1, Warnings: 0, Inconclusive: 0, Skipped: 0`
static NUNIT_CONSOLE: [Line; 2] = [
    Line(
        Whole,
        "^ *Test Count: {n}, (?:Passed|Pass): {passed}, (?:Failed|Fail): {failed}, Warnings: {n}, Inconclusive: {skipped}, Skipped: {skipped}$",
    ),
    Line(Name, "^[0-9]+\\) (?:Failed|Error) : (?P<name>[^ ]+).*$"),
];

/// `EXPECTO! 3 tests run in 00:00:00.1 for a – 2 passed, 0 ignored, 1 failed, 0 errored.`
static EXPECTO: [Line; 1] = [Line(
    Whole,
    "^(?:\\[.*\\] )?EXPECTO! {n} tests run in .* {passed} passed, {skipped} ignored, {failed} failed, {failed} errored\\..*$",
)];
