//! Libraries of tests for C and C++, by the lines that their programs print.

use crate::toolchains::counting::{
    Line,
    Role::{First, Name, None, Part, Whole},
    Runner,
};

/// `[==========] 3 tests from 1 test suite ran. (0 ms total)`
pub(super) const GTEST: Runner = Runner::new(
    "gtest",
    &[],
    &[
        Line(
            First,
            r"^\[=+\] {n} tests? from {n} test (?:suites?|cases?) ran\.(?: \(.*\))?$",
        ),
        Line(Part, r"^\[  PASSED  \] {passed} tests?\.$"),
        Line(Part, r"^\[  SKIPPED \] {skipped} tests?, listed below:$"),
        Line(Part, r"^\[  FAILED  \] {failed} tests?, listed below:$"),
        Line(
            Name,
            r"^\[  FAILED  \] (?P<name>[^ ,]+\.[^ ,]+)(?:, where .*)?(?: \({n} ms\))?$",
        ),
    ],
);

/// `[==========] 3 test(s) run.`
pub(super) const CMOCKA: Runner = Runner::new(
    "cmocka",
    &[],
    &[
        Line(First, r"^\[=+\] (?:[^ ]+: )?{n} test\(s\) run\.$"),
        Line(Part, r"^\[  PASSED  \] {passed} test\(s\)\.$"),
        Line(
            Part,
            r"^\[  SKIPPED \] (?:[^ ]+: )?{skipped} test\(s\), listed below:$",
        ),
        Line(
            Part,
            r"^\[  FAILED  \] (?:[^ ]+: )?{failed} test\(s\), listed below:$",
        ),
        Line(Name, r"^\[  FAILED  \] (?P<name>[^ ]+)$"),
    ],
);

/// `test cases: 3 | 2 passed | 1 failed`
pub(super) const CATCH2: Runner = Runner::new(
    "catch2",
    &[2, 4],
    &[
        Line(
            Whole,
            r"^All tests passed \({n} assertions? in {passed} test cases?\)$",
        ),
        Line(Whole, r"^test cases: +{n} \| (?P<list>[0-9 ][0-9a-z |]*)$"),
        Line(None, "^No tests ran$"),
        Line(None, "^No test cases matched .*$"),
    ],
);

/// `[doctest] test cases:  3 |  2 passed | 1 failed | 0 skipped`
pub(super) const DOCTEST: Runner = Runner::new(
    "doctest",
    &[],
    &[
        Line(
            Whole,
            r"^\[doctest\] test cases: +{n} \| +{passed} passed \| +{failed} failed \|(?: +{skipped} skipped)?$",
        ),
        Line(Name, "^TEST CASE:  {name}$"),
    ],
);

/// `66%: Checks: 3, Failures: 1, Errors: 0`
pub(super) const CHECK: Runner = Runner::new(
    "check",
    &[],
    &[
        Line(
            Whole,
            "^{n}%: Checks: {total}, Failures: {failed}, Errors: {failed}$",
        ),
        Line(Name, "^[^ :]+:[0-9]+:[FE]:(?P<name>[^:]+:[^:]+):.*$"),
    ],
);

/// `[====] Synthesis: Tested: 3 | Passing: 2 | Failing: 1 | Crashing: 0`
pub(super) const CRITERION: Runner = Runner::new(
    "criterion",
    &[],
    &[
        Line(
            Whole,
            r"^\[=+\] Synthesis: Tested: {n} \| Passing: {passed} \| Failing: {failed} \| Crashing: {failed}$",
        ),
        Line(Name, r"^\[FAIL\] (?P<name>[^ :]+::[^ :]+)(?:: .*)?$"),
    ],
);

/// `OK (3 tests, 3 ran, 5 checks, 0 ignored, 0 filtered out, 1 ms)`
pub(super) const CPPUTEST: Runner = Runner::new(
    "cpputest",
    &[],
    &[
        Line(
            Whole,
            r"^(?:OK|Errors) \((?:{failed} failures, )?{n} tests, {ran} ran, {n} checks, {skipped} ignored, {n} filtered out, {n} ms\)$",
        ),
        Line(Name, r"^[^ ]+: error: Failure in (?P<name>TEST\([^)]*\))$"),
    ],
);

/// `3 Tests 1 Failures 0 Ignored`
pub(super) const UNITY: Runner = Runner::new(
    "unity",
    &[],
    &[
        Line(Whole, "^{total} Tests {failed} Failures {skipped} Ignored$"),
        Line(Name, r"^[^ :]+:[0-9]+:(?P<name>[^ :]+):FAIL(?::.*)?$"),
    ],
);

/// `Running 3 test cases...`, `*** 1 failure is detected in the test module "a"`
pub(super) const BOOST: Runner = Runner::new(
    "boost",
    &[200],
    &[
        Line(First, r"^Running {total} test cases?\.\.\.$"),
        Line(
            Part,
            r"^\*\*\* {failed} failures? (?:is|are) detected in .*$",
        ),
        Line(None, "^Test setup error: no test cases matching filter.*$"),
        Line(
            Name,
            r#"^[^ ]+: (?:fatal )?error: in "(?P<name>[^"]+)": .*$"#,
        ),
    ],
);

/// `Totals: 3 passed, 1 failed, 0 skipped, 0 blacklisted, 1ms`
pub(super) const QT: Runner = Runner::new(
    "qt",
    &[],
    &[
        Line(
            Whole,
            "^Totals: {passed} passed, {failed} failed, {skipped} skipped(?:, {n} blacklisted)?(?:, .*)?$",
        ),
        Line(Name, r"^FAIL!  : (?P<name>[^ ]+\(.*?\)) .*$"),
    ],
);

/// `OK (3)`
pub(super) const CPPUNIT: Runner = Runner::new(
    "cppunit",
    &[],
    &[
        Line(Whole, r"^OK \({passed}\)$"),
        Line(
            Whole,
            "^Run:  {total}   Failure total: {failed}   Failures: {n}   Errors: {n}$",
        ),
    ],
);
