//! Test runners of Python, by the lines that they print. tox, nox, hatch and the like run these.

use crate::toolchains::counting::{
    Line,
    Role::{Dots, First, Last, Latest, Name, Names, Session, Whole},
    Runner,
};

pub(super) static ALL: [Runner; 3] = [
    Runner::new("pytest", &[5], &PYTEST),
    Runner::new("unittest", &[5], &UNITTEST),
    Runner::new("behave", &[], &BEHAVE),
];

/// `2 failed, 2 passed in 0.05s`, with or without `====`; with `-qq` only the characters of progress.
static PYTEST: [Line; 6] = [
    Line(Session, "^=+ test session starts =+$"),
    Line(Latest, r"^(?:=+ )?{list} in {s}s(?: \([^)]*\))?(?: =+)?$"),
    Line(
        Latest,
        r"^(?:=+ )?no tests ran in {s}s(?: \([^)]*\))?(?: =+)?$",
    ),
    Line(Dots, r"^(?:[^ ]+\.py )?{dots} +\[ *[0-9]+%\]$"),
    Line(Names, "^=+ short test summary info =+$"),
    Line(
        Name,
        r"^(?:FAILED|ERROR) (?P<name>[^ ]+\.(?:py|txt|rst|md)(?:::.*?)?)(?: - .*)?$",
    ),
];

/// `Ran 3 tests in 0.001s`, then `OK (skipped=1)` or `FAILED (failures=1, errors=1)`; also nose and Django.
static UNITTEST: [Line; 5] = [
    Line(First, "^Ran {total} tests? in {s}s(?: using .*)?$"),
    Line(Last, r"^OK(?: \({pairs}\))?$"),
    Line(Last, r"^FAILED(?: \({pairs}\))?$"),
    Line(Last, r"^NO TESTS RAN(?: \({pairs}\))?$"),
    Line(
        Name,
        r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (?P<name>[^ ]+ \([^ )]+\))(?: .*)?$",
    ),
];

/// `2 scenarios passed, 1 failed, 0 skipped`
static BEHAVE: [Line; 2] = [
    Line(
        Whole,
        "^{passed} scenarios? passed, {failed} failed(?:, {failed} error)?, {skipped} skipped(?:, .*)?$",
    ),
    Line(Name, r"^  (?P<name>[^ ]+\.feature:[0-9]+  .*)$"),
];
