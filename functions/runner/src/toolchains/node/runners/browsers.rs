//! Test runners that drive browsers.

use crate::toolchains::counting::{
    Line,
    Role::{First, Name, None, Open, Part, Progress, Session, Sure},
    Runner,
};

/// `Chrome 120 (Linux): Executed 3 of 3 (1 FAILED) (0.01 secs / 0.002 secs)`, repeated as progress.
pub(super) const KARMA: Runner = Runner::new(
    "karma",
    &[1],
    &[
        Line(Session, "^.*Karma v[0-9.]+ server started at .*$"),
        Line(
            Progress,
            r"^.*\): Executed {ran} of {n}(?: \({failed} FAILED\))?(?: \(skipped {skipped}\))?(?: (?:SUCCESS|ERROR|DISCONNECTED))?(?: \(.*\))?$",
        ),
        Line(Progress, "^TOTAL: {passed} SUCCESS$"),
        Line(Progress, "^TOTAL: {failed} FAILED, {passed} SUCCESS$"),
        Line(Name, r"^[^ ].* \([^)]*\) {name} FAILED$"),
    ],
)
.covering(&["mocha", "jasmine"]);

/// `  1 failed`, their names, `  3 passed (1.2s)`. It reports no test where files cannot be loaded, too.
pub(super) const PLAYWRIGHT: Runner = Runner::new(
    "playwright",
    &[],
    &[
        Line(First, "^Running {n} tests? using {n} workers?(?:, .*)?$"),
        Line(Open, "^  {failed} (?:failed|interrupted)$"),
        Line(Open, "^  {passed} flaky$"),
        Line(Open, "^  {skipped} (?:skipped|did not run)$"),
        Line(Sure, r"^  {passed} passed \({s}[a-z]{1,2}\)$"),
        Line(None, "^Error: No tests found.*$"),
        Line(Name, "^  [0-9]+\\) (?P<name>[^ ].* › .*?) ?(?:─)*$"),
    ],
);

/// The table of each file of tests.
pub(super) const CYPRESS: Runner = Runner::new(
    "cypress",
    &[1],
    &[
        Line(First, "^ *│ Tests: +{total} +│$"),
        Line(Part, "^ *│ Passing: +{passed} +│$"),
        Line(Part, "^ *│ Failing: +{failed} +│$"),
        Line(Part, "^ *│ (?:Pending|Skipped): +{skipped} +│$"),
        Line(None, "^Can't run because no spec files were found\\.?$"),
    ],
)
.covering(&["mocha"]);

/// TAP, which counts by itself; but no test at all is a test that failed.
pub(super) const QUNIT: Runner = Runner::new(
    "qunit",
    &[1],
    &[Line(None, "^ +message: (?:Error: )?No tests were run\\.?$")],
);

/// `Chrome: |████| 2/2 test files | 3 passed, 1 failed`
pub(super) const WEB_TEST_RUNNER: Runner = Runner::new(
    "web-test-runner",
    &[1],
    &[Line(
        Progress,
        r"^[^ ]+: +\|.*\| {n}/{n} test files \| {list}$",
    )],
);
