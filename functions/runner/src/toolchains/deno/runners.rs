//! Test runners of Deno, by the lines that they print.

use crate::toolchains::counting::{
    Line,
    Role::{Name, None, Whole},
    Runner,
};

pub(super) static ALL: [Runner; 1] = [Runner::new("deno", &[1], &DENO)];

/// `ok | 3 passed | 0 failed | 1 ignored (10ms)`
static DENO: [Line; 3] = [
    Line(
        Whole,
        r"^(?:ok|FAILED) \| {passed} passed(?: \({n} steps?\))? \| {failed} failed(?: \({n} steps?\))?(?: \| {skipped} ignored(?: \({n} steps?\))?)?(?: \| {n} (?:measured|filtered out))*(?: \(.*\))?$",
    ),
    Line(None, "^error: No test modules found$"),
    Line(Name, "^(?P<name>[^ ].*?) => [^ ]+:[0-9]+:[0-9]+$"),
];
