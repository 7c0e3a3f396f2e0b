//! Checks and the messages of commands that are over.

use std::time::Duration;

use awo_domain::verification::{Check, Status};
use tokio::time::Instant;

use super::Verification;
use crate::contained_process::{End, FinishedCommand};
use crate::output::Tail;

impl Verification<'_> {
    /// The output of a command that is judged by its exit code.
    pub(super) fn judged(&self, name: &str, limit: Duration, finished: &FinishedCommand) -> Check {
        match finished.end {
            End::Exited(0) => passed(name, &took(finished)),
            End::Exited(code) => {
                let what = format!("exit code {code} {}", took(finished));
                failed(name, &with_output(&what, &finished.output))
            }
            _ => self.broken(name, limit, finished),
        }
    }

    /// A check whose command did not end by itself.
    pub(super) fn broken(&self, name: &str, limit: Duration, finished: &FinishedCommand) -> Check {
        if let End::OverLimit(why) = &finished.end {
            let what = format!("ended: {why}");
            return failed(name, &with_output(&what, &finished.output));
        }
        let what = match &finished.end {
            End::Exited(code) => format!("exit code {code}"),
            End::Signaled(signal) => format!("killed by signal {signal}"),
            End::TimedOut if self.deadline <= Instant::now() => self.out_of_time(""),
            End::TimedOut => format!("timed out after {} ms", limit.as_millis()),
            End::CalledOff(why) | End::OverLimit(why) => format!("ended: {why}"),
            End::NotStarted(why) => format!("could not be started: {why}"),
            End::SupervisorLost => "killed its own supervisor".to_owned(),
        };
        error(name, &with_output(&what, &finished.output))
    }
}

pub(super) fn took(finished: &FinishedCommand) -> String {
    format!("after {} ms", finished.took.as_millis())
}

pub(super) fn with_output(what: &str, output: &Tail) -> String {
    let text = output.text();
    match text.trim() {
        "" => format!("{what}, without any output"),
        text => format!("{what}; its output ends with:\n{text}"),
    }
}

pub(crate) fn check(name: &str, status: Status, message: &str) -> Check {
    Check {
        name: name.to_owned(),
        status,
        message: message.to_owned(),
        tests: None,
        location: None,
    }
}

pub(super) fn passed(name: &str, message: &str) -> Check {
    check(name, Status::Passed, message)
}

pub(super) fn failed(name: &str, message: &str) -> Check {
    check(name, Status::Failed, message)
}

pub(crate) fn error(name: &str, message: &str) -> Check {
    check(name, Status::Error, message)
}
