//! Numbers of a line, by the words beside them.

use super::Counts;

/// Meaning of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Passed,
    Failed,
    Skipped,
    /// All tests, the skipped ones included.
    Total,
    /// All tests that ran.
    Ran,
    /// Tests that are part of the total and were not chosen.
    Left,
    /// Something else than tests.
    Other,
}

impl Meaning {
    /// The meaning of a capture, which may have a number behind its name.
    pub(super) fn of_capture(name: &str) -> Option<Meaning> {
        Some(match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "passed" => Meaning::Passed,
            "failed" => Meaning::Failed,
            "skipped" => Meaning::Skipped,
            "total" => Meaning::Total,
            "ran" => Meaning::Ran,
            "left" => Meaning::Left,
            _ => return None,
        })
    }

    /// The meaning of the words of a runner.
    fn of_words(words: &str) -> Option<Meaning> {
        Some(match words {
            "passed" | "passing" | "pass" | "passes" | "xpassed" | "succeeded" | "flaky"
            | "failed as expected" => Meaning::Passed,
            "failed"
            | "failing"
            | "fail"
            | "failure"
            | "failures"
            | "error"
            | "errors"
            | "errored"
            | "timed out"
            | "exec failed"
            | "crashed"
            | "unexpected successes" => Meaning::Failed,
            "skipped" | "skip" | "skips" | "ignored" | "pending" | "todo" | "todos"
            | "disabled" | "xfailed" | "expected failures" | "incomplete" | "undefined" => {
                Meaning::Skipped
            }
            "total" => Meaning::Total,
            "warning" | "warnings" | "deselected" | "rerun" | "reruns" | "subtests passed"
            | "subtests skipped" | "risky" | "notices" | "deprecated" => Meaning::Other,
            _ => return None,
        })
    }
}

/// Numbers of one summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Values {
    passed: Option<u64>,
    failed: Option<u64>,
    skipped: u64,
    left: u64,
    total: Option<u64>,
    ran: Option<u64>,
}

impl Values {
    pub(super) fn add(&mut self, meaning: Meaning, count: u64) {
        let into = match meaning {
            Meaning::Passed => self.passed.get_or_insert_default(),
            Meaning::Failed => self.failed.get_or_insert_default(),
            Meaning::Skipped => &mut self.skipped,
            Meaning::Left => &mut self.left,
            Meaning::Total => self.total.get_or_insert_default(),
            Meaning::Ran => self.ran.get_or_insert_default(),
            Meaning::Other => return,
        };
        *into = into.saturating_add(count);
    }

    /// Adds `1 failed, 3 passed`; nothing if it has other words.
    pub(super) fn add_list(&mut self, list: &str) -> Option<()> {
        // `1 passed (1 slow, 1 leaky)`
        let mut is_remark = false;
        let without_remarks: String = list
            .chars()
            .filter(|c| {
                is_remark = *c == '(' || (is_remark && *c != ')');
                !is_remark && *c != ')'
            })
            .collect();
        for part in without_remarks.split([',', '|', ';']) {
            let (count, words) = part.trim().split_once(' ')?;
            self.add(Meaning::of_words(words.trim())?, count.parse().ok()?);
        }
        Some(())
    }

    /// Adds `Failures: 1, Errors: 2`, or the same with `=`; other words count nothing.
    pub(super) fn add_pairs(&mut self, pairs: &str) {
        for pair in pairs.split(',') {
            let Some((words, count)) = pair.split_once([':', '=']) else {
                continue;
            };
            let words = words.trim().to_ascii_lowercase();
            if let (Some(meaning), Ok(count)) = (Meaning::of_words(&words), count.trim().parse()) {
                self.add(meaning, count);
            }
        }
    }

    /// Adds a character for each test.
    pub(super) fn add_dots(&mut self, dots: &str) {
        for dot in dots.chars() {
            let meaning = match dot {
                '.' | 'X' => Meaning::Passed,
                'F' | 'E' => Meaning::Failed,
                's' | 'x' => Meaning::Skipped,
                _ => Meaning::Other,
            };
            self.add(meaning, 1);
        }
    }

    pub(super) fn merge(&mut self, other: Values) {
        for (meaning, count) in [
            (Meaning::Passed, other.passed),
            (Meaning::Failed, other.failed),
            (Meaning::Skipped, Some(other.skipped)),
            (Meaning::Left, Some(other.left)),
            (Meaning::Total, other.total),
            (Meaning::Ran, other.ran),
        ] {
            if let Some(count) = count {
                self.add(meaning, count);
            }
        }
    }

    pub(super) fn counts(self) -> Counts {
        let total = self.total.map(|total| total.saturating_sub(self.left));
        let unless_skipped = |of: u64| of.saturating_sub(self.skipped);
        let (passed, failed) = match (self.passed, self.failed, self.ran, total) {
            (None, failed, Some(ran), _) => {
                let failed = failed.unwrap_or(0);
                (ran.saturating_sub(failed), failed)
            }
            (None, failed, None, Some(total)) => {
                let failed = failed.unwrap_or(0);
                (unless_skipped(total).saturating_sub(failed), failed)
            }
            // Runners that have no word for what failed.
            (Some(passed), None, Some(ran), _) => (passed, ran.saturating_sub(passed)),
            (Some(passed), None, _, Some(total)) => {
                (passed, unless_skipped(total).saturating_sub(passed))
            }
            (passed, failed, ..) => (passed.unwrap_or(0), failed.unwrap_or(0)),
        };
        Counts {
            passed,
            failed,
            skipped: self.skipped,
            packages: false,
        }
    }
}
