//! The Test Anything Protocol, versions 12 to 14. A test of the parent summarizes indented
//! subtests; a run that ended before its plan did has failed.

use awo_domain::verification::Status;

use super::{Finding, Findings, append};

/// Most subtests that are named with their parent.
const MAX_WITHIN: usize = 20;

/// Everything that was read so far.
#[derive(Default)]
struct State {
    findings: Findings,
    planned: Option<usize>,
    seen: usize,
    /// The last test, to which a diagnostic block may belong.
    last: Option<Finding>,
    in_block: bool,
    /// Subtests that failed and whose parent was not seen yet.
    failed_within: Vec<String>,
}

pub(super) fn read(text: &str) -> Result<Findings, String> {
    let mut state = State::default();
    for line in text.lines() {
        state.line(line)?;
    }
    state.flush()?;
    let State {
        mut findings,
        planned,
        seen,
        ..
    } = state;
    let Some(planned) = planned else {
        return Err("has no plan such as 1..5".to_owned());
    };
    if planned != seen {
        let message = format!("{planned} tests were planned, and {seen} are reported");
        findings.add(failed("the plan", message))?;
    }
    Ok(findings)
}

impl State {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(inner) = line.strip_prefix("  ") {
            self.inner(inner.trim_end());
            return Ok(());
        }
        if let Some(why) = line.strip_prefix("Bail out!") {
            self.flush()?;
            self.findings
                .add(failed("bail out", why.trim().to_owned()))?;
            // What else was planned is known not to have run.
            self.planned = Some(self.seen);
        } else if let Some(rest) = after_word(line, "not ok") {
            self.test(false, rest)?;
        } else if let Some(rest) = after_word(line, "ok") {
            self.test(true, rest)?;
        } else if let Some(count) = line.strip_prefix("1..") {
            let digits = count.split([' ', '#']).next().unwrap_or_default();
            let count = digits.trim().parse();
            let count = count.map_err(|_| format!("has an invalid plan: {line:.80}"))?;
            self.planned.get_or_insert(count);
        }
        Ok(())
    }

    /// A line of a diagnostic block between `---` and `...`.
    fn inner(&mut self, line: &str) {
        match line {
            "---" => self.in_block = self.last.is_some(),
            "..." => self.in_block = false,
            _ if !self.in_block => {
                let name = after_word(line.trim_start(), "not ok").and_then(failed_name);
                if let Some(name) = name.filter(|_| self.failed_within.len() < MAX_WITHIN) {
                    self.failed_within.push(name);
                }
            }
            _ => {
                let last = self.last.as_mut().filter(|_| self.in_block);
                if let Some(finding) = last {
                    append(&mut finding.message, line);
                    append(&mut finding.message, "\n");
                }
            }
        }
    }

    /// ` 3 - adds numbers # SKIP no net`
    fn test(&mut self, ok: bool, rest: &str) -> Result<(), String> {
        self.flush()?;
        self.seen += 1;
        let (reported, directive) = split_directive(rest);
        let reported = reported
            .trim()
            .trim_start_matches(|c: char| c.is_ascii_digit());
        let reported = reported.trim_start().trim_start_matches("- ").trim();
        let name = if reported.is_empty() {
            format!("test {}", self.seen)
        } else {
            reported.to_owned()
        };
        let word = directive.get(..4).unwrap_or_default();
        let status = if word.eq_ignore_ascii_case("skip") {
            Status::Skipped
        } else if ok {
            Status::Passed
        } else if word.eq_ignore_ascii_case("todo") {
            Status::Skipped
        } else {
            Status::Failed
        };
        let mut message = String::new();
        append(&mut message, directive);
        let within = std::mem::take(&mut self.failed_within);
        if status == Status::Failed && !within.is_empty() {
            append(
                &mut message,
                &format!("failed in it: {}\n", within.join("; ")),
            );
        }
        self.last = Some(Finding {
            name,
            status,
            message,
            location: None,
        });
        Ok(())
    }

    fn flush(&mut self) -> Result<(), String> {
        self.in_block = false;
        self.last
            .take()
            .map_or(Ok(()), |finding| self.findings.add(finding))
    }
}

/// The name of a subtest that failed; none if it was to be passed over.
fn failed_name(rest: &str) -> Option<String> {
    let (reported, directive) = split_directive(rest);
    let name = reported
        .trim()
        .trim_start_matches(|c: char| c.is_ascii_digit());
    let name = name.trim_start().trim_start_matches("- ").trim();
    (directive.is_empty() && !name.is_empty()).then(|| name.to_owned())
}

fn failed(name: &str, message: String) -> Finding {
    let (name, status) = (name.to_owned(), Status::Failed);
    Finding {
        name,
        status,
        message,
        location: None,
    }
}

/// What follows a word that stands alone at the beginning.
fn after_word<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with(' ')).then_some(rest)
}

/// A directive stands behind the first `#` that no backslash precedes.
fn split_directive(rest: &str) -> (&str, &str) {
    let mut escaped = false;
    let at = rest.bytes().position(|byte| {
        let is_it = byte == b'#' && !escaped;
        escaped = byte == b'\\' && !escaped;
        is_it
    });
    at.map_or((rest, ""), |at| (&rest[..at], rest[at + 1..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> String {
        read(text).unwrap().counts()
    }

    #[test]
    fn tests_directives_and_diagnostics_are_read() {
        let text = "TAP version 14\n1..6\nok 1 - adds\nnot ok 2 - divides\n  ---\n  message: by zero\n  ...\n\
                    ok 3 - net # SKIP offline\nnot ok 4 - later # TODO soon\n    not ok 1 - inner\n    1..1\n\
                    not ok 5 - outer\n# a comment\nok\n";
        let findings = read(text).unwrap();
        assert_eq!(findings.counts(), "2 failed, 2 passed, 2 skipped");
        let checks = findings.checks("t", 50);
        let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
        assert_eq!(names, ["t: divides", "t: outer", "t: net", "t: later"]);
        assert_eq!(checks[0].message, "message: by zero");
        assert_eq!(checks[1].message, "failed in it: inner");
        assert_eq!(checks[2].message, "SKIP offline");
    }

    #[test]
    fn a_run_that_ended_before_its_plan_has_failed() {
        assert_eq!(counts("1..3\nok 1\n"), "1 failed, 1 passed");
        assert_eq!(counts("ok 1\nok 2\n1..1\n"), "1 failed, 2 passed");
        assert_eq!(
            counts("1..3\nok 1\nBail out! no disk\n"),
            "1 failed, 1 passed"
        );
        assert_eq!(counts("ok 1 - a \\# b\n1..1"), "1 passed");
    }

    #[test]
    fn what_is_no_tap_is_an_error_and_what_names_no_test_has_none() {
        assert!(read("ok 1\nok 2\n").unwrap_err().contains("no plan"));
        assert!(read("1..0 # SKIP no database\n").unwrap().none_ran());
        assert!(read("1..x\n").unwrap_err().contains("plan"));
        assert!(read("hello\n").is_err());
        let many = format!("1..100001\n{}", "ok\n".repeat(100_001));
        assert!(read(&many).unwrap_err().contains("more than"));
    }
}
