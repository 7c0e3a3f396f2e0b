//! Test runners of Ruby, by the lines that they print.

use crate::toolchains::counting::{
    Line,
    Role::{Name, None, Whole},
    Runner,
};

pub(super) static ALL: [Runner; 4] = [
    Runner::new("rspec", &[1], &RSPEC),
    Runner::new("minitest", &[1], &MINITEST),
    Runner::new("test-unit", &[1], &TEST_UNIT),
    Runner::new("cucumber", &[], &CUCUMBER),
];

/// `4 examples, 1 failure, 1 pending`
static RSPEC: [Line; 3] = [
    Line(
        Whole,
        "^{total} examples?, {failed} failures?(?:, {skipped} pending)?(?:, {failed} errors? occurred outside of examples)?$",
    ),
    Line(None, r"^No examples found\.$"),
    Line(
        Name,
        r"^(?:bundle exec )?rspec (?P<name>[^ ']*(?:'[^']*')?[^ ]* # .*)$",
    ),
];

/// `3 runs, 3 assertions, 1 failures, 0 errors, 0 skips`; also `rails test`.
static MINITEST: [Line; 3] = [
    Line(
        Whole,
        "^{total} (?:runs?|tests?), {n} assertions?, {failed} failures?, {failed} errors?, {skipped} skips?$",
    ),
    Line(Name, r"^(?P<name>[A-Z][\w:]*#[^ ]+)(?: \[[^\]]+\])?:$"),
    Line(Name, r"^(?:bin/)?rails test (?P<name>[^ ]+:[0-9]+)$"),
];

/// `3 tests, 3 assertions, 1 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications`
static TEST_UNIT: [Line; 2] = [
    Line(
        Whole,
        "^{total} tests, {n} assertions, {failed} failures, {failed} errors, {skipped} pendings, {skipped} omissions, {n} notifications$",
    ),
    Line(Name, r"^(?:Failure|Error): (?P<name>[^ ]+\([^)]+\)).*$"),
];

/// `3 scenarios (1 failed, 2 passed)`; also of Cucumber and Behat in other languages.
static CUCUMBER: [Line; 3] = [
    Line(Whole, r"^{n} scenarios? \({list}\)$"),
    Line(None, "^0 scenarios$"),
    Line(Name, r"^cucumber (?P<name>[^ ]+:[0-9]+.*)$"),
];
