//! The plan's commands: judged by exit codes and reports, which must both be successful; and
//! retried if the profile allows it.

use awo_domain::verification::{Check, Evidence, Status, TestCounts};

use super::findings::{Before, Findings};
use super::tested;
use super::{Kind, MissingTool, Verification, check, no_answer};
use crate::inspection::{Answer, Task};
use crate::plan::{Command, TestReport};
use crate::stop::StopOutcome;
use crate::toolchains::counting::Counter;

/// Most findings of all commands together that become checks of their own.
pub(super) const MAX_NAMED: usize = 200;

/// The outcome of a command.
pub(super) struct Ran {
    /// Its own check, and then those of its report.
    pub(super) checks: Vec<Check>,
    /// Evidence that tests ran and passed.
    pub(super) evidence: Evidence,
    /// Counted tests.
    pub(super) tests: TestCounts,
    pub(super) missing: Option<MissingTool>,
}

impl From<Check> for Ran {
    fn from(check: Check) -> Ran {
        vec![check].into()
    }
}

impl From<Vec<Check>> for Ran {
    fn from(checks: Vec<Check>) -> Ran {
        Ran {
            checks,
            evidence: Evidence::None,
            tests: TestCounts::default(),
            missing: None,
        }
    }
}

impl Verification<'_> {
    pub(super) fn keep(&mut self, checks: &mut Vec<Check>, ran: Ran) {
        self.named += ran.checks.len().saturating_sub(1);
        self.evidence = self.evidence.max(ran.evidence);
        self.tests.add(ran.tests);
        if self.missing.is_none() {
            self.missing = ran.missing;
        }
        checks.extend(ran.checks);
    }

    /// What could not be judged is not tried again: it took all its time, or broke its tool.
    pub(super) async fn tried(&self, command: &Command, kind: Kind) -> Result<Ran, StopOutcome> {
        let first = self.command(command, kind).await?;
        let Kind::Test { retries } = kind else {
            return Ok(first);
        };
        if worst(&first.checks) != Status::Failed {
            return Ok(first);
        }
        let mut tries = 1;
        while tries <= retries && !self.left().is_zero() {
            let again = self.command(command, kind).await?;
            match worst(&again.checks) {
                Status::Failed => tries += 1,
                status if status.passes() => {
                    let checks = flaky(first.checks, tries + 1);
                    return Ok(Ran { checks, ..again });
                }
                _ => break,
            }
        }
        let checks = failed_again(first.checks, tries);
        Ok(Ran { checks, ..first })
    }

    pub(super) async fn command(&self, command: &Command, kind: Kind) -> Result<Ran, StopOutcome> {
        let dir = &self.subject.dir;
        let before = match &command.report {
            Some(report) => Some(Before::of(dir, report.path.as_str()).await),
            None => None,
        };
        let counter = Counter::default();
        let finished = match self.shell(command, Some(&counter)).await? {
            Ok(finished) => finished,
            Err(check) => return Ok(check.into()),
        };
        let own = self.judged(command.name(), command.limit(), &finished);
        if let Some(missing) = self.missing_of(command, &finished) {
            let message = format!("{missing}; {}", own.message);
            let check = check(&own.name, Status::Error, &message);
            return Ok(Ran {
                missing: Some(missing),
                ..check.into()
            });
        }
        let most = MAX_NAMED.saturating_sub(self.named);
        let findings = match (&command.report, before) {
            (Some(report), Some(before)) => Some((report, self.findings(report, before).await?)),
            _ => None,
        };
        let is_test = kind != Kind::Other;
        let run = command.run.as_str();
        let counted = counter.counted();
        Ok(match findings {
            Some((report, Ok(findings))) => {
                let path = report.path.as_str();
                tested::by_report(own, path, findings, &finished, is_test, most)
            }
            // The plan's author named no report: without one the closing lines count.
            Some((_, Err(_))) if !self.has_named_tests => {
                tested::by_output(own, counted, &finished, run, is_test, false, most)
            }
            Some((report, Err(why))) => {
                let own = tested::without_report(own, report.path.as_str(), &why);
                tested::by_output(own, counted, &finished, run, is_test, true, most)
            }
            None => {
                let is_named = self.has_named_tests;
                tested::by_output(own, counted, &finished, run, is_test, is_named, most)
            }
        })
    }

    /// The findings of a report that was written since then, or why there are none.
    async fn findings(
        &self,
        report: &TestReport,
        before: Before,
    ) -> Result<Result<Findings, String>, StopOutcome> {
        let since = match before {
            Before::File(stamp) => {
                if stamp.still_holds(&self.subject.dir, report.path.as_str()) {
                    return Ok(Err("existed before and was not written again".to_owned()));
                }
                None
            }
            Before::Files(since) => Some(since),
        };
        let report = report.clone();
        Ok(match self.inspect(Task::Report { report, since }).await? {
            Ok(Answer::Findings(read)) => read,
            Ok(_) => Err(no_answer().to_string()),
            Err(fault) => Err(format!("was not read: {fault}")),
        })
    }
}

pub(super) fn worst(checks: &[Check]) -> Status {
    Status::worst(checks.iter().map(|check| check.status))
}

/// What failed at first and passed in the end passes, with a warning.
fn flaky(mut first: Vec<Check>, tries: u32) -> Vec<Check> {
    for check in first.iter_mut().filter(|check| !check.status.passes()) {
        check.status = Status::Warning;
        check.message = format!(
            "flaky: passed when its command was run again, in try {tries}; at first: {}",
            check.message
        );
    }
    first
}

fn failed_again(mut first: Vec<Check>, tries: u32) -> Vec<Check> {
    if let Some(own) = first.first_mut().filter(|_| tries > 1) {
        own.message = format!("failed {tries} times; at first: {}", own.message);
    }
    first
}
