//! Lines of runners: a regular expression, in which words in braces stand for numbers, and the role that the
//! line has. All of them are tried at once.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::runners;
use super::values::{Meaning, Values};

/// Largest size of all expressions together, compiled.
const MAX_SET_BYTES: usize = 64 << 20;
/// Words in braces, with the expression of each; those of numbers may occur several times.
const TOKENS: [(&str, &str); 13] = [
    ("passed", "[0-9]{1,9}"),
    ("failed", "[0-9]{1,9}"),
    ("skipped", "[0-9]{1,9}"),
    ("total", "[0-9]{1,9}"),
    ("ran", "[0-9]{1,9}"),
    ("left", "[0-9]{1,9}"),
    // `1 failed, 3 passed`
    ("list", "[0-9][0-9a-z ,|;]*"),
    // `2 passed (1 slow), 1 failed`
    ("remarks", "[0-9][0-9a-z ,()]*"),
    // `Failures: 1, Errors: 2`
    ("pairs", "[A-Za-z][0-9A-Za-z :=,]*"),
    // A character for each test.
    ("dots", "[.FEsxXu]+"),
    ("name", "[^ \t].*?"),
    // A number that is not of tests.
    ("n", "[0-9]{1,9}"),
    // A time.
    ("s", "[0-9][0-9.,]*"),
];

/// Role of a line in its runner's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A summary of its own, added to those before.
    Whole,
    /// The words that no test ran.
    None,
    /// A summary that replaces those since the session's start, if that was seen.
    Latest,
    /// A summary that replaces all since the session's start.
    Progress,
    /// The start of a session.
    Session,
    /// The first line of a summary.
    First,
    /// A line of a summary that may have begun with it, and is none without a [`Role::Sure`] line.
    Open,
    /// A line of a summary, or its first, that makes it certain.
    Sure,
    /// A line of a summary that has begun.
    Part,
    /// The last line of a summary, which makes it certain.
    Last,
    /// The line after a summary that is not the last one of these tests.
    Discard,
    /// A package that passed, or did not.
    PackagePassed,
    PackageFailed,
    /// A test that the summary counts as passed and that was skipped.
    WasSkipped,
    /// A single test.
    Passed,
    Failed,
    Skipped,
    /// One character for each test.
    Dots,
    /// Evidence of the runner, without which single tests do not count.
    Anchor,
    /// The name of a failing test.
    Name,
    /// The same in several lines.
    NameFirst,
    NameMore,
    /// The start of the only valid names of a session.
    Names,
    /// A list of failing tests begins, or ends.
    ListStart,
    ListEnd,
    /// A name within such a list.
    Listed,
}

impl Role {
    /// True if such a line counts for one runner alone.
    pub(super) fn is_summary(self) -> bool {
        matches!(
            self,
            Role::Whole
                | Role::None
                | Role::Latest
                | Role::Progress
                | Role::First
                | Role::Open
                | Role::Sure
                | Role::Part
                | Role::Last
                | Role::PackagePassed
                | Role::PackageFailed
        )
    }
}

/// A line of a runner.
pub(crate) struct Line(pub(crate) Role, pub(crate) &'static str);

/// A line that was recognized.
pub(super) struct Match<'a> {
    /// The runner's number.
    pub(super) runner: usize,
    pub(super) role: Role,
    pub(super) values: Values,
    pub(super) name: Option<&'a str>,
}

/// All lines of all runners.
pub(super) struct Matcher {
    set: RegexSet,
    /// The runner, the role, and the expression of each.
    lines: Vec<(usize, Role, Regex)>,
}

pub(super) static MATCHER: LazyLock<Matcher> = LazyLock::new(Matcher::of_all_runners);

impl Matcher {
    #[expect(
        clippy::expect_used,
        reason = "the expressions are constants, and a test compiles all of them"
    )]
    fn of_all_runners() -> Matcher {
        let mut lines = Vec::new();
        let mut sources = Vec::new();
        for (number, runner) in runners().enumerate() {
            for Line(role, pattern) in runner.lines {
                let source = expanded(pattern);
                let regex = RegexBuilder::new(&source).unicode(false).build();
                let regex = regex.expect("an expression of the table");
                lines.push((number, *role, regex));
                sources.push(source);
            }
        }
        let set = RegexSetBuilder::new(sources)
            .unicode(false)
            .size_limit(MAX_SET_BYTES)
            .build()
            .expect("the expressions of the table");
        Matcher { set, lines }
    }

    /// Meaning of this line, for each runner.
    pub(super) fn matches<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Match<'a>> {
        let numbers = self.set.matches(text.as_bytes()).into_iter();
        numbers.filter_map(move |number| {
            let (runner, role, regex) = self.lines.get(number)?;
            let (values, name) = read(regex, text)?;
            Some(Match {
                runner: *runner,
                role: *role,
                values,
                name,
            })
        })
    }
}

/// The numbers and the name in a line; nothing if it has words that no runner prints there.
fn read<'a>(regex: &Regex, text: &'a str) -> Option<(Values, Option<&'a str>)> {
    let mut values = Values::default();
    let mut test = None;
    if regex.captures_len() == 1 {
        return Some((values, test));
    }
    let captures = regex.captures(text.as_bytes())?;
    let named = regex.capture_names().enumerate();
    for (name, number) in named.filter_map(|(number, name)| Some((name?, number))) {
        let Some(capture) = captures.get(number) else {
            continue;
        };
        let value = text.get(capture.range())?;
        match name {
            "list" | "remarks" => values.add_list(value)?,
            "pairs" => values.add_pairs(value),
            "dots" => values.add_dots(value),
            "name" => test = Some(value.trim()),
            _ => values.add(Meaning::of_capture(name)?, value.parse().ok()?),
        }
    }
    Some((values, test))
}

/// The expression, with its words in braces replaced.
fn expanded(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() * 2);
    let mut rest = pattern;
    let mut number = 1;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let token = TOKENS.iter().find(|(word, _)| {
            let word = from[1..].strip_prefix(word);
            word.is_some_and(|rest| rest.starts_with('}'))
        });
        match token {
            Some((word, expression)) => {
                let _ = match *word {
                    "n" | "s" => write!(out, "(?:{expression})"),
                    "passed" | "failed" | "skipped" | "total" | "ran" | "left" => {
                        number += 1;
                        write!(out, "(?P<{word}{number}>{expression})")
                    }
                    _ => write!(out, "(?P<{word}>{expression})"),
                };
                rest = &from[word.len() + 2..];
            }
            None => {
                out.push('{');
                rest = &from[1..];
            }
        }
    }
    out.push_str(rest);
    out
}
