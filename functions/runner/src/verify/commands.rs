//! The plan's commands: judged by their exit codes and their reports, which must agree that all is
//! well; and, where the profile says so, tried again.

use awo_domain::verification::{Check, Status};

use super::findings::{Findings, Stamp};
use super::{Verification, check, took};
use crate::plan::Command;
use crate::stop::Stopped;
use crate::supervised::Finished;

/// Most findings of all commands together that become checks of their own.
pub(super) const MAX_NAMED: usize = 200;

impl Verification<'_> {
    /// Runs the set-up commands if they were not; false if there is no use in going on.
    pub(super) async fn set_up(&mut self, checks: &mut Vec<Check>) -> Result<bool, Stopped> {
        if let Some(done) = self.set_up {
            return Ok(done);
        }
        for command in &self.plan.setup {
            let mut told = self.command(command).await?;
            for check in &mut told {
                check.name = format!("setup: {}", check.name);
            }
            let passed = worst(&told).passes();
            self.keep(checks, told);
            if !passed {
                self.set_up = Some(false);
                return Ok(false);
            }
        }
        self.set_up = Some(true);
        Ok(true)
    }

    /// Set-up, then these commands; all of them, so that an agent learns of all that is wrong. One
    /// that fails is tried again up to `retries` times.
    pub(super) async fn commands(
        &mut self,
        commands: &[Command],
        retries: u32,
    ) -> Result<Vec<Check>, Stopped> {
        let mut checks = Vec::new();
        if commands.is_empty() || !self.set_up(&mut checks).await? {
            return Ok(checks);
        }
        for command in commands {
            let told = self.tried(command, retries).await?;
            self.keep(&mut checks, told);
        }
        Ok(checks)
    }

    fn keep(&mut self, checks: &mut Vec<Check>, told: Vec<Check>) {
        self.named += told.len().saturating_sub(1);
        checks.extend(told);
    }

    /// What could not be judged is not tried again: it took all its time, or broke its tool.
    async fn tried(&self, command: &Command, retries: u32) -> Result<Vec<Check>, Stopped> {
        let first = self.command(command).await?;
        if worst(&first) != Status::Failed {
            return Ok(first);
        }
        let mut tries = 1;
        while tries <= retries && !self.left().is_zero() {
            let again = self.command(command).await?;
            match worst(&again) {
                Status::Failed => tries += 1,
                status if status.passes() => return Ok(flaky(first, tries + 1)),
                _ => break,
            }
        }
        Ok(failed_again(first, tries))
    }

    /// The command's own check, and then those of its report.
    async fn command(&self, command: &Command) -> Result<Vec<Check>, Stopped> {
        let dir = &self.subject.dir;
        let report = command.report.as_ref();
        let before = match report {
            Some(report) => Some(Stamp::before(dir, report.path.as_str()).await),
            None => None,
        };
        let finished = match self.shell(command).await? {
            Ok(finished) => finished,
            Err(check) => return Ok(vec![check]),
        };
        let own = self.judged(command.name(), command.limit(), &finished);
        let (Some(report), Some(before)) = (report, before) else {
            return Ok(vec![own]);
        };
        let path = report.path.as_str();
        Ok(match Findings::read(dir, report, before) {
            Err(why) => vec![without_report(own, path, &why)],
            Ok(findings) => {
                let own = with_report(own, path, &findings, &finished);
                let mut checks = vec![own];
                let most = MAX_NAMED.saturating_sub(self.named);
                checks.extend(findings.checks(command.name(), most));
                checks
            }
        })
    }
}

fn worst(checks: &[Check]) -> Status {
    Status::worst(checks.iter().map(|check| check.status))
}

/// A report that is missing is no news of a command that failed, and the end of one that did not.
fn without_report(own: Check, path: &str, why: &str) -> Check {
    if own.status == Status::Passed {
        let message = format!("exit code 0, but its report cannot be relied on: {path} {why}");
        check(&own.name, Status::Error, &message)
    } else {
        let message = format!("{path} {why}; {}", own.message);
        check(&own.name, own.status, &message)
    }
}

fn with_report(own: Check, path: &str, findings: &Findings, finished: &Finished) -> Check {
    let counts = format!("{path} names {}", findings.counts());
    let (status, message) = match own.status {
        Status::Passed if findings.failed > 0 => (
            Status::Failed,
            format!("exit code 0 {}, but {counts}", took(finished)),
        ),
        Status::Passed if findings.skipped > 0 && findings.skipped == findings.count() => {
            (Status::Warning, format!("nothing was tested: {counts}"))
        }
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
