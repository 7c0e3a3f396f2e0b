//! Test runners of Elixir and Erlang, by the lines that they print.

use crate::toolchains::counting::{
    Line,
    Role::{Name, None, Whole},
    Runner,
};

pub(super) static ALL: [Runner; 2] = [
    Runner::new("exunit", &[1], &EXUNIT),
    Runner::new("common test", &[], &COMMON_TEST),
];

/// `1 doctest, 3 tests, 1 failure, 1 excluded, 1 skipped`; also EUnit by rebar3.
static EXUNIT: [Line; 4] = [
    Line(
        Whole,
        r"^(?:{total} doctests?, )?(?:{total} propert(?:y|ies), )?{total} tests?, {failed} failures?(?:, {skipped} cancelled)?(?:, {left} excluded)?(?:, {skipped} invalid)?(?:, {skipped} skipped)?(?: \({n} excluded\))?(?:, {skipped} (?:invalid|skipped))*$",
    ),
    Line(None, "^There are no tests to run$"),
    Line(
        None,
        r#"^The --only option was given to "mix test" but no test was executed$"#,
    ),
    Line(
        Name,
        r"^ +[0-9]+\) (?P<name>(?:test|doctest|property) [^ ].*)$",
    ),
];

/// `All 3 tests passed.`, `Failed 1 tests. Passed 2 tests.`
static COMMON_TEST: [Line; 2] = [
    Line(Whole, r"^ *All {passed} tests passed\.$"),
    Line(
        Whole,
        r"^ *Failed {failed} tests\.(?: Skipped {skipped} .*tests\.)? Passed {passed} tests\.$",
    ),
];
