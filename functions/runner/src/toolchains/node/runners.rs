//! Test runners of Node.js and Bun, by the lines that they print.

mod browsers;

use crate::toolchains::counting::{
    Line,
    Role::{
        Failed, First, Last, ListEnd, ListStart, Listed, Name, NameFirst, NameMore, None, Open,
        Part, Passed, Skipped, Sure, Whole,
    },
    Runner,
};

pub(super) static ALL: [Runner; 18] = [
    Runner::new("node", &[], &NODE),
    Runner::new("jest", &[1], &JEST),
    Runner::new(
        "jest",
        &[],
        &[Line(None, "^No tests found, exiting with code 0$")],
    ),
    Runner::new("vitest", &[1], &VITEST),
    Runner::new(
        "vitest",
        &[],
        &[Line(None, "^No test files found, exiting with code 0$")],
    ),
    Runner::new("mocha", &[1], &MOCHA),
    Runner::new("ava", &[1], &AVA),
    Runner::new("tap", &[1], &NODE_TAP),
    Runner::new("tap, classic", &[], &CLASSIC_TAP).covering(&["mocha"]),
    Runner::new("jasmine", &[2], &JASMINE),
    Runner::new("bun", &[1], &BUN),
    Runner::new("uvu", &[1], &UVU),
    browsers::KARMA,
    browsers::PLAYWRIGHT,
    browsers::CYPRESS,
    browsers::QUNIT,
    browsers::WEB_TEST_RUNNER,
    // The script that `npm init` writes.
    Runner::new("npm", &[1], &[Line(None, "^Error: no test specified$")]),
];

/// `# tests 4`, `# pass 3`, or the same behind `ℹ`; also tape and testem.
static NODE: [Line; 6] = [
    Line(First, "^(?:# |ℹ |\t?<!-- )tests +{total}(?: -->)?$"),
    Line(Part, "^(?:# |ℹ |\t?<!-- )pass +{passed}(?: -->)?$"),
    Line(Part, "^(?:# |ℹ |\t?<!-- )fail +{failed}(?: -->)?$"),
    Line(Part, "^(?:# |ℹ |\t?<!-- )cancelled +{failed}(?: -->)?$"),
    Line(
        Part,
        "^(?:# |ℹ |\t?<!-- )(?:skip|skipped|todo) +{skipped}(?: -->)?$",
    ),
    Line(Name, r"^ *✖ {name} \({s}ms\)$"),
];

/// `Tests:       1 failed, 3 passed, 4 total`
static JEST: [Line; 4] = [
    Line(Whole, "^Tests: +(?P<list>[0-9][0-9a-z ,]* total)$"),
    Line(None, "^No tests found, exiting with code 1$"),
    Line(None, "^No tests found related to files changed since .*$"),
    Line(Name, "^  ● {name}$"),
];

/// `      Tests  1 failed | 3 passed (4)`
static VITEST: [Line; 4] = [
    Line(Whole, r"^ *Tests  +{list} \({n}\)$"),
    Line(Whole, "^ *Tests  +no tests$"),
    Line(None, "^No test files found, exiting with code 1$"),
    Line(Name, "^ *FAIL  +(?P<name>[^ ].* > .*)$"),
];

/// `  3 passing (10ms)`, `  1 failing`
static MOCHA: [Line; 6] = [
    Line(First, r"^ *{passed} passing(?: \({s}[a-z]{1,2}\))?$"),
    Line(Part, "^ *{failed} failing$"),
    Line(Part, "^ *{skipped} pending$"),
    Line(None, "^(?:Error: |Warning: )No test files found.*$"),
    Line(NameFirst, "^  [0-9]+\\) {name}:?$"),
    Line(NameMore, "^ {7,}{name}:?$"),
];

/// `  2 tests passed`; where a test failed those that passed have a line each alone.
static AVA: [Line; 7] = [
    Line(Sure, "^  {passed} tests? passed$"),
    Line(Sure, "^  {failed} tests? failed$"),
    Line(Sure, "^  {skipped} tests? (?:skipped|todo)$"),
    Line(Passed, "^  (?:✔|✓) {name}$"),
    Line(
        Failed,
        r"^  (?:✘|✖) \[fail\]: (?P<name>[^ ].*?)(?: \({s}m?s\))?$",
    ),
    Line(Skipped, r"^  - \[(?:skip|todo)\] {name}$"),
    Line(
        None,
        "^ +(?:✘|✖) Couldn.{1,3}t find any (?:files to test|matching tests)$",
    ),
];

/// `# { total: 4, pass: 2, fail: 1, skip: 1 }`, and `Asserts:` of other reporters.
static NODE_TAP: [Line; 3] = [
    Line(
        Whole,
        r"^# \{ total: {total}(?:, pass: {passed})?(?:, fail: {failed})?(?:, skip: {skipped})?(?:, todo: {skipped})? \}$",
    ),
    Line(Whole, "^Asserts: +{list}, of {n}$"),
    Line(None, "^No valid test files found matching .*$"),
];

/// `total ................... 12/12`, of node-tap before its version 15; also of faucet's kind.
static CLASSIC_TAP: [Line; 2] = [
    Line(Whole, r"^total \.{3,} {passed}/{total}$"),
    Line(
        Name,
        r"^not ok (?P<name>[^ ]+\.[a-z]+) \.{3,} [0-9]+/[0-9]+$",
    ),
];

/// `4 specs, 1 failure, 1 pending spec`
static JASMINE: [Line; 5] = [
    Line(
        Whole,
        "^{total} specs?, {failed} failures?(?:, {skipped} pending specs?)?$",
    ),
    Line(None, "^No specs found$"),
    Line(ListStart, "^Failures:$"),
    Line(ListEnd, "^Pending:$"),
    Line(Listed, r"^[0-9]+\) {name}$"),
];

/// ` 3 pass`, ` 1 fail`, `Ran 4 tests across 2 files. [10.00ms]`
static BUN: [Line; 9] = [
    Line(Open, "^ *{passed} pass$"),
    Line(Part, "^ *{skipped} (?:skip|todo)$"),
    Line(Part, "^ *{failed} fail$"),
    Line(Last, r"^Ran {n} tests? across {n} files?\.(?: .*)?$"),
    Line(None, "^error: 0 test files matching .*$"),
    Line(None, "^error: regex .* matched 0 tests.*$"),
    Line(None, "^No tests found!$"),
    Line(
        None,
        "^The following filters did not match any test files:$",
    ),
    Line(Name, r"^(?:\(fail\)|✗) (?P<name>[^ ].*?)(?: \[{s}m?s\])?$"),
];

/// `  Total:     3`, `  Passed:    3`, `  Skipped:   0`
static UVU: [Line; 4] = [
    Line(First, "^  Total:     +{ran}$"),
    Line(Part, "^  Passed:    +{passed}$"),
    Line(Part, "^  Skipped:   +{skipped}$"),
    Line(Name, "^ +FAIL  +{name}$"),
];
