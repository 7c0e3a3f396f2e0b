//! The plan's commands: judged by exit codes and reports, which must both be successful; and
//! retried if the profile allows it.

use awo_domain::verification::{Check, Status};

use super::findings::{Findings, Stamp};
use super::{Kind, MissingTool, Verification, check, no_answer, took};
use crate::contained_process::{End, FinishedCommand};
use crate::inspection::{Answer, Task};
use crate::plan::Command;
use crate::stop::StopOutcome;
use crate::toolchains::counting::{self as counts, Counts};

/// Most findings of all commands together that become checks of their own.
pub(super) const MAX_NAMED: usize = 200;
/// The check that stands beside a command that ran no test.
const NO_TESTS: &str = "no tests ran";

/// The outcome of a command.
pub(super) struct Ran {
    /// Its own check, and then those of its report.
    pub(super) checks: Vec<Check>,
    /// True if it ran and all was well in the end.
    pub(super) passed: bool,
    pub(super) missing: Option<MissingTool>,
}

impl From<Check> for Ran {
    fn from(check: Check) -> Ran {
        Ran {
            checks: vec![check],
            passed: false,
            missing: None,
        }
    }
}

impl Verification<'_> {
    pub(super) fn keep(&mut self, checks: &mut Vec<Check>, ran: Ran) {
        self.named += ran.checks.len().saturating_sub(1);
        self.verified |= ran.passed;
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
        let report = command.report.as_ref();
        let before = match report {
            Some(report) => Some(Stamp::before(dir, report.path.as_str()).await),
            None => None,
        };
        let finished = match self.shell(command).await? {
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
        let (Some(report), Some(before)) = (report, before) else {
            let counts = counts::read(&finished.output).filter(|_| kind != Kind::Other);
            return Ok(match counts {
                Some(counts) => with_counts(own, counts, &finished),
                None => Ran::of(vec![own]),
            });
        };
        let path = report.path.as_str();
        let read = if before.still_holds(dir, path) {
            Err("existed before and was not written again".to_owned())
        } else {
            match self.inspect(Task::Report(report.clone())).await? {
                Ok(Answer::Findings(read)) => read,
                Ok(_) => Err(no_answer().to_string()),
                Err(fault) => Err(format!("was not read: {fault}")),
            }
        };
        Ok(match read {
            Err(why) => without_report(own, path, &why).into(),
            Ok(findings) if findings.none_ran() && kind != Kind::Other && own.status.passes() => {
                let message = format!("{path} names {}; {}", findings.counts(), own.message);
                no_tests(own, message)
            }
            Ok(findings) => {
                let own = with_report(own, path, &findings, &finished);
                let mut checks = vec![own];
                let most = MAX_NAMED.saturating_sub(self.named);
                checks.extend(findings.checks(command.name(), most));
                Ran::of(checks)
            }
        })
    }
}

impl Ran {
    fn of(checks: Vec<Check>) -> Ran {
        let own = checks.first();
        Ran {
            passed: own.is_some_and(|own| own.status == Status::Passed),
            checks,
            missing: None,
        }
    }
}

/// The command's check with its tool's counts of tests.
fn with_counts(own: Check, counts: Counts, finished: &FinishedCommand) -> Ran {
    let names = counts::failed_names(&finished.output);
    let named = if names.is_empty() || own.status == Status::Passed {
        String::new()
    } else {
        format!("failed: {}; ", names.join(", "))
    };
    let message = format!("{counts}; {named}{}", own.message);
    let reports_none = match finished.end {
        End::Exited(0) => true,
        End::Exited(code) => counts::is_code_of_none(code, &finished.output),
        _ => false,
    };
    if counts.none_ran() && reports_none {
        return no_tests(own, message);
    }
    Ran::of(vec![check(&own.name, own.status, &message)])
}

/// Zero tests are never a success: the command's check is a warning, and one more gives the reason. What
/// failed has failed all the same.
fn no_tests(own: Check, message: String) -> Ran {
    let name = own.name;
    if own.status == Status::Error {
        return check(&name, Status::Error, &message).into();
    }
    let why = format!("{name} ran no test: add tests, or correct the command");
    Ran {
        checks: vec![
            check(&name, Status::Warning, &format!("no tests ran: {message}")),
            check(NO_TESTS, Status::Warning, &why),
        ],
        passed: false,
        missing: None,
    }
}

pub(super) fn worst(checks: &[Check]) -> Status {
    Status::worst(checks.iter().map(|check| check.status))
}

/// A report that is missing is no news of a command that failed, and the end of one that did not.
fn without_report(own: Check, path: &str, why: &str) -> Check {
    if own.status == Status::Passed {
        let message = format!("exit code 0, but its report is not reliable: {path} {why}");
        check(&own.name, Status::Error, &message)
    } else {
        let message = format!("{path} {why}; {}", own.message);
        check(&own.name, own.status, &message)
    }
}

fn with_report(own: Check, path: &str, findings: &Findings, finished: &FinishedCommand) -> Check {
    let counts = format!("{path} names {}", findings.counts());
    let (status, message) = match own.status {
        Status::Passed if findings.failed > 0 => (
            Status::Failed,
            format!("exit code 0 {}, but {counts}", took(finished)),
        ),
        Status::Passed => (Status::Passed, format!("{counts} {}", own.message)),
        status if findings.failed == 0 => {
            let message = format!("though {counts}, it did not succeed: {}", own.message);
            (status, message)
        }
        status => (status, format!("{counts}; {}", own.message)),
    };
    check(&own.name, status, &message)
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
