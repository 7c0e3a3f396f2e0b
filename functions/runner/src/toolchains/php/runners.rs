//! Test runners of PHP, by the lines that they print.

use crate::toolchains::counting::{
    Line,
    Role::{ListEnd, ListStart, Listed, Name, None, Whole},
    Runner,
};

pub(super) static ALL: [Runner; 3] = [
    Runner::new("phpunit", &[1, 2], &PHPUNIT),
    Runner::new("pest", &[1], &PEST),
    Runner::new("phpspec", &[], &PHPSPEC),
];

/// `OK (3 tests, 3 assertions)`, `Tests: 3, Assertions: 3, Failures: 1.`; also Codeception.
static PHPUNIT: [Line; 6] = [
    Line(Whole, r"^OK \({passed} tests?, {n} assertions?\)$"),
    Line(Whole, r"^Tests: {total}, Assertions: {n}(?:, {pairs})?\.$"),
    Line(None, "^No tests executed!$"),
    Line(ListStart, "^There (?:was|were) {n} (?:failure|error)s?:$"),
    Line(
        ListEnd,
        "^There (?:was|were) {n} (?:skipped|risky|incomplete|PHPUnit|warning|deprecation|notice|useless).*:$",
    ),
    Line(Listed, r"^[0-9]+\) {name}$"),
];

/// `  Tests:    1 failed, 3 passed (5 assertions)`; also `artisan test`.
static PEST: [Line; 3] = [
    Line(Whole, r"^  Tests: {2,}{list}(?: \({n} assertions?\))?$"),
    Line(None, r"^ +(?:INFO|WARN) +No tests found\.$"),
    Line(Name, "^ +FAILED +(?P<name>[^ ].* > .*)$"),
];

/// `3 examples (2 passed, 1 failed)`
static PHPSPEC: [Line; 2] = [
    Line(Whole, r"^{n} examples? \({list}\)$"),
    Line(None, "^0 examples$"),
];
