//! Test runners of Go, by the lines that they print.

use crate::toolchains::counting::{
    Line,
    Role::{Failed, Name, None, PackageFailed, PackagePassed, Passed, Skipped, Whole},
    Runner,
};

pub(super) static ALL: [Runner; 4] = [
    Runner::new("go without packages", &[1], &GO_NO_PACKAGES),
    Runner::new("go", &[], &GO),
    Runner::new("go -json", &[], &GO_JSON),
    Runner::new("gotestsum", &[], &GOTESTSUM).covering(&["go"]),
];

/// A module without any package, of which nothing can have failed.
static GO_NO_PACKAGES: [Line; 1] = [Line(None, "^no packages to test$")];

/// Packages, or tests where they are named (`-v`).
static GO: [Line; 10] = [
    Line(
        PackagePassed,
        "^ok  \t[^ \t]+\t(?:\\(cached\\)|{s}s)(?:\tcoverage: (?:\\[no statements\\]|[0-9.]+% of statements.*?))?$",
    ),
    Line(PackageFailed, r"^FAIL[ \t][^ \t]+[ \t]{s}s$"),
    Line(Whole, r"^FAIL[ \t][^ \t]+ \[(?:build|setup) failed\]$"),
    Line(
        None,
        "^ok  \t[^ \t]+\t(?:\\(cached\\)|{s}s)[ \t](?:coverage: .* )?\\[no tests to run\\]$",
    ),
    Line(None, "^\\?   \t[^ \t]+\t\\[no test files\\]$"),
    Line(None, "^\t[^ \t]+\t\tcoverage: 0.0% of statements$"),
    Line(None, "^(?:go: )?warning: \"[^\"]*\" matched no packages$"),
    Line(Passed, r"^ *--- PASS: {name} \({s}s\)$"),
    Line(Failed, r"^ *--- FAIL: {name} \({s}s\)$"),
    Line(Skipped, r"^ *--- SKIP: {name} \({s}s\)$"),
];

/// Events of `go test -json` on standard output.
static GO_JSON: [Line; 4] = [
    Line(
        Whole,
        r#"^\{.*"Action":"(?:pass|fail|skip)","Package":"[^"]*","Elapsed":.*\}$"#,
    ),
    Line(
        Passed,
        r#"^\{.*"Action":"pass","Package":"[^"]*","Test":"{name}".*\}$"#,
    ),
    Line(
        Failed,
        r#"^\{.*"Action":"fail","Package":"[^"]*","Test":"{name}".*\}$"#,
    ),
    Line(
        Skipped,
        r#"^\{.*"Action":"skip","Package":"[^"]*","Test":"{name}".*\}$"#,
    ),
];

/// `DONE 3 tests, 1 skipped, 1 failure in 0.5s`
static GOTESTSUM: [Line; 3] = [
    Line(Whole, "^DONE {total} tests?(?:, {list})? in {s}s$"),
    // After several runs of what failed its exit code says whether it passed in the end.
    Line(
        Whole,
        "^DONE {n} runs?, {total} tests?(?:, {skipped} skipped)?(?:, {n} failures?)?(?:, {n} errors?)? in {s}s$",
    ),
    Line(Name, r"^=== FAIL: {name} \({s}s\)$"),
];
