//! Names that wrappers put in front of each line of a program.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

/// Most wrappers around each other.
const MAX_DEPTH: usize = 3;
/// Longest name, in bytes.
const MAX_PREFIX_BYTES: usize = 200;

/// Forms of a prefix, by the tools that use them.
const FORMS: [&str; 7] = [
    // docker compose `web-1  | `, foreman `12:00:00 web.1 | `, moon `web:test | `
    r"(?:[0-9]{2}:[0-9]{2}:[0-9]{2} +)?(?P<piped>[A-Za-z0-9@][\w.:@/-]*) +\| ?",
    // concurrently `[0] `, nx `[web] `, yarn `[a]: `, npm-run-all `[test:unit ] `, act `[CI/test]   | `
    r"\[(?P<bracket>[\w@./][\w@./:# -]*?) *\]:?(?: +\|)? ",
    // turbo `web:test: `, `@scope/web:test: `, `//:test: `; lerna `a: `
    r"(?P<colon>(?:(?:@|//)?[a-z0-9#][\w.@/#-]*|//)(?::[\w.:/#-]+?)*): ",
    // pnpm `packages/a test: `, `. test: `; bun `a test: `
    r"[\w@./-]+ [\w:.-]*(?:test|spec|check|ci|unit|e2e|coverage|verify|integration)[\w:.-]*: ",
    // docker build `#12 3.456 `
    r"#[0-9]+ [0-9]+\.[0-9]+ ",
    // Times of a log.
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]+(?:Z|[+-][0-9:]+)? ",
    // act `| `
    r"\| ",
];

/// Words that stand before a colon or in brackets, and are no name of a package.
const NO_PACKAGES: [&str; 38] = [
    "actual",
    "debug",
    "done",
    "error",
    "expected",
    "failed",
    "failures",
    "fatal",
    "finished",
    "found",
    "got",
    "help",
    "hint",
    "info",
    "log",
    "make",
    "message",
    "msg",
    "note",
    "npm",
    "ok",
    "output",
    "passed",
    "result",
    "results",
    "sh",
    "status",
    "stderr",
    "stdout",
    "summary",
    "tests",
    "total",
    "trace",
    "usage",
    "want",
    "warn",
    "warning",
    "xunit.net",
];

#[expect(
    clippy::expect_used,
    reason = "the expression is a constant, and tests use it"
)]
static PREFIX: LazyLock<Regex> = LazyLock::new(|| {
    let source = format!("^(?:{})", FORMS.join("|"));
    let mut builder = RegexBuilder::new(&source);
    builder.unicode(false).build().expect("an expression")
});

/// The line as a whole, and without what wrappers may have put in front: what that is, and the rest.
pub(super) fn splits(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut at_end = false;
    let mut start = 0;
    std::iter::from_fn(move || {
        if at_end {
            return None;
        }
        let split = text.split_at_checked(start)?;
        match length(split.1) {
            Some(length) => start += length,
            None => at_end = true,
        }
        Some(split)
    })
    .take(MAX_DEPTH + 1)
}

/// The length of the prefix of a line, if it may have one.
fn length(text: &str) -> Option<usize> {
    let captures = PREFIX.captures(text.as_bytes())?;
    for form in ["bracket", "colon"] {
        let word = captures.name(form).and_then(|word| text.get(word.range()));
        let is_word = |word: &str| {
            let word = word.to_ascii_lowercase();
            let first = word.split(' ').next().unwrap_or_default();
            NO_PACKAGES.contains(&first)
        };
        let is_number = |word: &str| form == "colon" && word.bytes().all(|b| b.is_ascii_digit());
        if word.is_some_and(|word| is_word(word) || is_number(word)) {
            return None;
        }
    }
    let length = captures.get(0).map(|whole| whole.len())?;
    (length <= MAX_PREFIX_BYTES).then_some(length)
}
