//! A command of a template or an environment, run as the agent would run it.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::{Abort, Work};
use crate::contained_process::{AtTimeout, End, Finished, Job};
use crate::environment::Variables;
use crate::limits::limits;
use crate::output::last_bytes;

/// How much of a failed command's output an error repeats.
const OUTPUT_BYTES: usize = 1_200;
/// How much of its text, in characters.
const COMMAND: usize = 300;

/// A command and where it runs.
pub(super) struct Script<'a> {
    pub(super) run: &'a str,
    pub(super) variables: &'a Variables,
    pub(super) dir: &'a Path,
    pub(super) home: &'a Path,
    pub(super) tmp: &'a Path,
    /// Folders that count against the profile's limit of disk.
    pub(super) measured: &'a [&'a Path],
    pub(super) limit: Duration,
}

impl Work<'_> {
    /// Runs a command to its end; nothing of it is alive then. A sentence if it failed.
    pub(super) async fn shell(
        &self,
        script: &Script<'_>,
    ) -> Result<Result<Duration, String>, Abort> {
        let argv = ["sh", "-c", script.run].map(OsString::from);
        let limit = script.limit.min(self.left());
        let own = [("AWO_RUN_ID", self.spec.run_id.as_str().into())];
        let variables = script.variables.iter();
        let env: Vec<(&str, OsString)> = variables
            .map(|(name, value)| (name.as_str(), value.clone()))
            .chain(own)
            .collect();
        let job = Job {
            argv: &argv,
            dir: script.dir,
            home: script.home,
            tmp: script.tmp,
            reads: &[],
            env: &env,
            limit,
            at_timeout: AtTimeout::Kill,
            limits: limits(&self.spec.profile.execution_limits, script.measured),
            called_off: None,
            keep_bytes: OUTPUT_BYTES,
            heard: None,
        };
        let finished = (self.processes.run(job).await)
            .map_err(|interrupted| Abort::Stopped(interrupted.stopped))?;
        match &finished.end {
            End::Exited(0) => Ok(Ok(finished.took)),
            End::TimedOut if self.left().is_zero() => Err(self.out_of_time()),
            _ => Ok(Err(failure(script.run, &finished, limit))),
        }
    }
}

/// How a command failed, its text, and the end of its output.
fn failure(run: &str, finished: &Finished, limit: Duration) -> String {
    let what = match &finished.end {
        End::TimedOut => format!("was stopped after {} s, its limit", limit.as_secs()),
        End::Exited(code) => format!("ended with exit code {code}"),
        End::Signaled(signal) => format!("was killed by signal {signal}"),
        End::CalledOff(why) => format!("was stopped: {why}"),
        End::OverLimit(why) => format!("was ended: {why}"),
        End::NotStarted(why) => format!("could not be started: {why}"),
        End::SupervisorLost => "killed its supervisor".to_owned(),
    };
    let command: String = run.chars().take(COMMAND).collect();
    let output = match finished.output.text().trim() {
        "" => "it has no output".to_owned(),
        text => format!("its output ends with:\n{}", last_bytes(text, OUTPUT_BYTES)),
    };
    format!("{what}: {command}\n{output}")
}
