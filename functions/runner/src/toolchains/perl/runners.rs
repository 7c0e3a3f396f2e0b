//! Test runners of Perl, by the lines that they print.

use crate::toolchains::counting::{
    Line,
    Role::{Name, None, Open, Sure},
    Runner,
};

pub(super) static ALL: [Runner; 1] = [Runner::new("prove", &[], &PROVE)];

/// `Failed 1/3 subtests` of each file, then `Files=2, Tests=5,  1 wallclock secs`
static PROVE: [Line; 5] = [
    Line(Open, "^Failed {failed}/{n} subtests$"),
    Line(Sure, "^Files={n}, Tests={total}, .*$"),
    Line(None, "^Result: NOTESTS$"),
    Line(Name, "^# +Failed test '{name}'$"),
    Line(Name, r"^(?P<name>[^ ]+) +\(Wstat: .*\)$"),
];
