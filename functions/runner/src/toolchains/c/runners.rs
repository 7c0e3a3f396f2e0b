//! Test runners of C and C++, by the lines that they print.

mod libraries;

use crate::toolchains::counting::{
    Line,
    Role::{Discard, First, Last, Name, None, Open, Part, Sure, WasSkipped, Whole},
    Runner,
};

pub(super) static ALL: [Runner; 15] = [
    Runner::new("ctest", &[8], &CTEST).covering(&COVERED),
    Runner::new("meson", &[], &MESON).covering(&COVERED),
    Runner::new("automake", &[], &AUTOMAKE).covering(&COVERED),
    Runner::new("automake, serial", &[], &AUTOMAKE_SERIAL).covering(&COVERED),
    libraries::GTEST,
    libraries::CMOCKA,
    libraries::CATCH2,
    libraries::DOCTEST,
    libraries::CHECK,
    libraries::CRITERION,
    libraries::CPPUTEST,
    libraries::UNITY,
    libraries::BOOST,
    libraries::QT,
    libraries::CPPUNIT,
];

/// Libraries whose output shows where their program fails.
static COVERED: [&str; 12] = [
    "gtest",
    "cmocka",
    "catch2",
    "doctest",
    "check",
    "criterion",
    "cpputest",
    "unity",
    "boost",
    "qt",
    "cppunit",
    "junit",
];

/// `67% tests passed, 1 tests failed out of 3`
static CTEST: [Line; 4] = [
    Line(
        Whole,
        "^{n}% tests passed(?:, {failed} tests? failed)? out of {total}$",
    ),
    Line(None, "^No tests were found!!!$"),
    Line(WasSkipped, "^\t *{n} - [^ ]+ \\(Skipped\\)(?: .*)?$"),
    Line(
        Name,
        "^\t *{n} - (?P<name>[^ ].*?) \\((?:Failed|Timeout|SEGFAULT|ILLEGAL|INTERRUPT|BUS|NUMERICAL|OTHER_FAULT|Subprocess [a-z]+|Not Run|Child aborted|Exception.*|Bad command|Unable to .*)\\)(?:[ \t].*)?$",
    ),
];

/// `Ok:                 3`, `Fail:               1`
static MESON: [Line; 11] = [
    Line(Open, "^Ok: +{passed}$"),
    Line(Sure, "^Fail: +{failed}$"),
    Line(Part, "^Expected [Ff]ail: +{passed}$"),
    Line(Part, "^Unexpected [Pp]ass: +{failed}$"),
    Line(Part, "^Skipped: +{skipped}$"),
    Line(Part, "^Timeout: +{failed}$"),
    Line(Last, "^Full log written to .*$"),
    Line(None, r"^No (?:suitable )?tests defined\.$"),
    Line(
        Name,
        r"^ *{n}/{n} {name} +(?:FAIL|TIMEOUT|ERROR) +{s}s(?: .*)?$",
    ),
    Line(
        Name,
        r"^ *[0-9]+/[0-9]+ {name} +UNEXPECTEDPASS +{s}s(?: .*)?$",
    ),
    Line(Part, "^Ignored: +{skipped}$"),
];

/// `# TOTAL: 3`, `# PASS:  2`, `# FAIL:  1`
static AUTOMAKE: [Line; 7] = [
    Line(First, "^# TOTAL: +{total}$"),
    Line(Part, "^# PASS: +{passed}$"),
    Line(Part, "^# SKIP: +{skipped}$"),
    Line(Part, "^# XFAIL: +{passed}$"),
    Line(Part, "^# (?:FAIL|XPASS|ERROR): +{failed}$"),
    Line(Name, "^(?:FAIL|XPASS|ERROR): (?P<name>[^ ].*)$"),
    // The log of all tests, which holds the same summary.
    Line(Discard, r"^\.\. contents:: :depth: 2$"),
];

/// `All 3 tests passed`, `1 of 3 tests failed`
static AUTOMAKE_SERIAL: [Line; 4] = [
    Line(Whole, "^All {passed} tests passed$"),
    Line(Whole, r"^All {passed} tests behaved as expected \(.*\)$"),
    Line(Whole, "^{failed} of {total} tests failed$"),
    Line(Name, "^FAIL: (?P<name>[^ ]+)$"),
];
