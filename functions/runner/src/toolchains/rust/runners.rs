//! Test runners of Rust, by the lines that they print.

use crate::toolchains::counting::{
    Line,
    Role::{Name, None, Whole},
    Runner,
};

pub(super) static ALL: [Runner; 2] = [
    Runner::new("cargo", &[], &CARGO),
    Runner::new("nextest", &[4], &NEXTEST).covering(&["cargo"]),
];

/// `test result: ok. 2 passed; 0 failed; 1 ignored; …`, of each test binary and of the documentation.
static CARGO: [Line; 3] = [
    Line(
        Whole,
        r"^test result: (?:ok|FAILED)\. {passed} passed; {failed} failed; {skipped} ignored; {n} measured; {n} filtered out(?:; finished in {s}s)?$",
    ),
    Line(Name, r"^test {name} \.\.\. FAILED$"),
    Line(Name, "^---- {name} stdout ----$"),
];

/// `Summary [   0.02s] 2 tests run: 2 passed, 0 skipped`
static NEXTEST: [Line; 3] = [
    Line(
        Whole,
        r"^ *Summary \[ *{s}s\] (?:{n}/)?{n} tests? run: {remarks}$",
    ),
    Line(None, "^error: no tests to run$"),
    Line(
        Name,
        r"^ +(?:TRY {n} )?(?:FAIL|TIMEOUT|ABORT|SIG[A-Z]+) \[[ >]*{s}s\](?: \( *[0-9]+/[0-9]+\))? +{name}$",
    ),
];
