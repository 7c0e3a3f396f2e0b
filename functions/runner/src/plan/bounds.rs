//! Limits of a whole plan. A file of 256 KiB is small, but its content can be large: an alias
//! repeats its target, and a compiled pattern exceeds its text. Every fault names its position.

use saphyr_parser::{Event, Parser};

use super::types::Plan;
use super::values::{Glob, Pattern, glob_set, patterns_fit};

/// Most entries of any list in a plan.
const MAX_ENTRIES: usize = 200;
/// Most entries of all its lists together.
const MAX_ALL_ENTRIES: usize = 1_000;
/// Most bytes of all regular expressions as they are written: reading them takes time as well.
const MAX_PATTERNS_TEXT: usize = 65_536;

/// Refuses aliases (`*name`).
pub(super) fn check_aliases(text: &str) -> Result<(), String> {
    for event in Parser::new_from_str(text) {
        match event {
            Ok((Event::Alias(_), span)) => {
                let (line, column) = (span.start.line(), span.start.col() + 1);
                return Err(format!(
                    "aliases are not supported at line {line} column {column}: write the value \
                     where the alias (*name) stands"
                ));
            }
            Ok(_) => {}
            // The reader of the plan finds the fault, too, and names its key.
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

/// Refuses patterns of paths whose brackets are neither a class nor literal.
pub(super) fn check_globs(plan: &Plan, text: &str) -> Result<(), String> {
    for (name, globs) in plan.globs() {
        for (number, glob) in globs.iter().enumerate() {
            let Some(why) = glob.fault() else {
                continue;
            };
            let shown = glob.shown();
            let line = text.lines().position(|line| line.contains(&shown));
            let place = line.map_or(String::new(), |line| format!(" at line {}", line + 1));
            return Err(format!(
                "{name}[{number}]: {why}{place}: write \\[ for a literal bracket"
            ));
        }
    }
    Ok(())
}

/// Refuses patterns of reports that match nothing whatever there is.
pub(super) fn check_reports(plan: &Plan, text: &str) -> Result<(), String> {
    let lists = [
        ("setup", &plan.setup),
        ("contracts.commands", &plan.contracts.commands),
        ("tests", &plan.tests),
    ];
    for (list, commands) in lists {
        for (number, command) in commands.iter().enumerate() {
            let path = command.report.as_ref().map(|report| report.path.as_str());
            let glob = path.and_then(Glob::of_report);
            let Some(why) = glob.and_then(|glob| glob.fault()) else {
                continue;
            };
            let shown = path.unwrap_or_default();
            let line = text.lines().position(|line| line.contains(shown));
            let place = line.map_or(String::new(), |line| format!(" at line {}", line + 1));
            return Err(format!(
                "{list}[{number}].report.path: {why}{place}: write \\[ for a literal bracket"
            ));
        }
    }
    Ok(())
}

/// Checks that lists and patterns are not too many or too large.
pub(super) fn check(plan: &Plan, text: &str) -> Result<(), String> {
    let lists = lists(plan);
    let mut all = 0;
    for (name, count) in &lists {
        if *count > MAX_ENTRIES {
            return Err(format!("{name} has more than {MAX_ENTRIES} entries"));
        }
        all += count;
        if all > MAX_ALL_ENTRIES {
            return Err(format!(
                "with {name} all lists together have more than {MAX_ALL_ENTRIES} entries"
            ));
        }
    }
    for (name, globs) in plan.globs() {
        let fits = |count: usize| glob_set(&globs[..count]).is_ok();
        check_size(globs.len(), &fits, |index| format!("{name}[{index}]"))?;
    }
    let patterns = patterns(plan);
    let compiled: Vec<&Pattern> = patterns.iter().map(|(_, pattern)| *pattern).collect();
    let mut bytes = 0;
    for (name, pattern) in &patterns {
        bytes += pattern.as_str().len();
        if bytes > MAX_PATTERNS_TEXT {
            return Err(format!(
                "with {name} all regular expressions together have more than {MAX_PATTERNS_TEXT} bytes: use fewer or \
                 shorter ones"
            ));
        }
    }
    let fits = |count: usize| patterns_fit(&compiled[..count]);
    check_size(patterns.len(), &fits, |at| patterns[at].0.clone())?;
    // Together they are small, so each is soon compiled.
    for (name, pattern) in &patterns {
        if let Err(why) = pattern.compile() {
            let line = text
                .lines()
                .position(|line| line.contains(pattern.as_str()));
            let place = line.map_or(String::new(), |line| format!(" at line {}", line + 1));
            return Err(format!("{name} is not a regular expression{place}: {why}"));
        }
    }
    Ok(())
}

/// Names the first entry with which all entries together are too large, if they are.
fn check_size(
    count: usize,
    fits: &dyn Fn(usize) -> bool,
    name: impl Fn(usize) -> String,
) -> Result<(), String> {
    if fits(count) {
        return Ok(());
    }
    // The first `good` entries fit, the first `bad` do not.
    let (mut good, mut bad) = (0, count);
    while bad - good > 1 {
        let middle = usize::midpoint(good, bad);
        if fits(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Err(format!(
        "with {} all patterns together are too large: use fewer or simpler ones",
        name(good)
    ))
}

fn lists(plan: &Plan) -> Vec<(String, usize)> {
    let contracts = &plan.contracts;
    let mut lists = vec![
        ("setup".to_owned(), plan.setup.len()),
        ("contracts.schemas".to_owned(), contracts.schemas.len()),
        ("contracts.commands".to_owned(), contracts.commands.len()),
        ("tests".to_owned(), plan.tests.len()),
        ("blackbox".to_owned(), plan.blackbox.len()),
    ];
    let globs = plan.globs().into_iter();
    lists.extend(globs.map(|(name, globs)| (name.to_owned(), globs.len())));
    for (number, one) in plan.blackbox.iter().enumerate() {
        let name = |list: &str| format!("blackbox[{number}].expect.{list}");
        lists.push((name("contains"), one.expect.contains.len()));
        lists.push((name("matches"), one.expect.matches.len()));
    }
    lists
}

/// All regular expressions, each with its place.
fn patterns(plan: &Plan) -> Vec<(String, &Pattern)> {
    let boxes = plan.blackbox.iter().enumerate();
    let patterns = boxes.flat_map(|(number, one)| {
        let patterns = one.expect.matches.iter().enumerate();
        patterns
            .map(move |(at, pattern)| (format!("blackbox[{number}].expect.matches[{at}]"), pattern))
    });
    patterns.collect()
}

/// Lists of globs by name.
pub(super) type Globs<'a> = Vec<(&'static str, &'a [Glob])>;

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn fault(text: &str) -> String {
        Plan::parse(text.as_bytes()).unwrap_err()
    }

    fn list(count: usize, entry: &str) -> String {
        format!("[{}]", vec![entry; count].join(", "))
    }

    #[test]
    fn every_list_is_limited_and_so_are_all_together() {
        for (text, place) in [
            (format!("tests: {}", list(201, "{run: a}")), "tests"),
            (format!("protected: {}", list(201, "a")), "protected"),
            (
                format!(
                    "blackbox: [{{run: a, expect: {{contains: {}}}}}]",
                    list(201, "a")
                ),
                "blackbox[0].expect.contains",
            ),
            (
                format!(
                    "blackbox: [{{run: a, expect: {{matches: {}}}}}]",
                    list(201, "a")
                ),
                "blackbox[0].expect.matches",
            ),
        ] {
            let why = fault(&text);
            assert!(why.starts_with(place) && why.contains("200"), "{why}");
        }
        let entry = format!("{{run: a, expect: {{contains: {}}}}}", list(150, "a"));
        let why = fault(&format!("blackbox: {}", list(7, &entry)));
        assert!(
            why.contains("blackbox[6].expect.contains") && why.contains("1000"),
            "{why}"
        );
    }

    #[test]
    fn all_patterns_together_are_limited_and_the_first_too_many_is_named() {
        let mut text = "blackbox:\n".to_owned();
        for _ in 0..100 {
            let _ = writeln!(
                text,
                "  - {{run: a, expect: {{matches: ['\\w{{20}}', '\\w{{20}}']}}}}"
            );
        }
        let why = fault(&text);
        assert!(
            why.contains("blackbox[") && why.contains("].expect.matches["),
            "{why}"
        );
        assert!(why.contains("together"), "{why}");
        let good = "blackbox: [{run: a, expect: {matches: ['^Hello, \\w+', 'x{3}']}}]\n";
        assert!(Plan::parse(good.as_bytes()).is_ok());
    }

    #[test]
    fn a_report_whose_pattern_can_match_nothing_is_refused_with_its_field() {
        for (text, field, line) in [
            (
                "version: 1\ntests: [{run: a}, {run: b, report: {format: junit, path: 'out/[a.xml'}}]\n",
                "tests[1].report.path",
                "line 2",
            ),
            (
                "setup:\n  - {run: a, report: {path: 'x{a,b.tap'}}\n",
                "setup[0].report.path",
                "line 2",
            ),
            (
                "contracts: {commands: [{run: a, report: {format: sarif, path: '**a[z-a].json'}}]}\n",
                "contracts.commands[0].report.path",
                "line 1",
            ),
        ] {
            let why = fault(text);
            assert!(why.starts_with(field) && why.contains(line), "{why}");
        }
        let good = "tests: [{run: a, report: {path: 'out/[ab]/{x,y}*.xml'}}, {run: b, report: {path: 'a.xml'}}]\n";
        assert!(Plan::parse(good.as_bytes()).is_ok());
    }

    #[test]
    fn thousands_of_large_patterns_are_refused_before_any_is_compiled() {
        let matches = list(100, r"'\w{100}\w{100}'");
        let one = format!("{{run: a, expect: {{matches: {matches}}}}}");
        let began = std::time::Instant::now();
        let why = fault(&format!("blackbox: {}", list(20, &one)));
        assert!(why.contains("1000 entries"), "{why}");
        let matches = list(40, &format!("'{}'", r"(?i)\w".repeat(400)));
        let why = fault(&format!(
            "blackbox: [{{run: a, expect: {{matches: {matches}}}}}]"
        ));
        assert!(why.contains("65536 bytes"), "{why}");
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }

    #[test]
    fn what_is_no_regular_expression_is_named_with_its_line() {
        let why = fault("version: 1\nblackbox:\n  - {run: a, expect: {matches: ['a(']}}\n");
        let place = "blackbox[0].expect.matches[0] is not a regular expression at line 3";
        assert!(why.contains(place), "{why}");
    }

    #[test]
    fn aliases_are_refused_where_they_stand_and_what_looks_like_one_is_not() {
        let why = fault("tests:\n  - &a {run: x}\n  - *a\n");
        assert!(why.contains("alias") && why.contains("line 3"), "{why}");
        let good = "tests: [{run: 'ls *'}, {run: echo a * b}]\nprotected: [\"*.txt\", '&x']\n";
        assert!(Plan::parse(good.as_bytes()).is_ok());
    }
}
