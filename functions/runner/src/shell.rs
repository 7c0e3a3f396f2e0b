//! A command of a template or an environment, run as the agent would run it.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use awo_domain::RunId;
use awo_supervisor::Limits;

use crate::contained_process::Variables;
use crate::contained_process::{AtTimeout, ContainedProcesses, End, FinishedCommand, Job};
use crate::output::last_bytes;
use crate::stop::StopOutcome;

/// How much of a failed command's output an error repeats.
const OUTPUT_BYTES: usize = 1_200;
/// How much of its text, in characters.
const COMMAND: usize = 300;

/// A command and where it runs.
pub(crate) struct Script<'a> {
    pub(crate) run: &'a str,
    pub(crate) run_id: &'a RunId,
    pub(crate) variables: &'a Variables,
    pub(crate) dir: &'a Path,
    pub(crate) home: &'a Path,
    pub(crate) tmp: &'a Path,
    pub(crate) limits: Limits,
    pub(crate) limit: Duration,
}

/// A command that did not end as it should.
#[derive(Debug)]
pub(crate) struct ScriptFailure {
    pub(crate) timed_out: bool,
    pub(crate) exit_code: Option<i32>,
    pub(crate) took: Duration,
    /// How it failed, its text, and the end of its output.
    pub(crate) why: String,
}

impl Script<'_> {
    /// Runs a command to its end; nothing of it is alive then. How long it took.
    ///
    /// # Errors
    /// When everything is to stop.
    pub(crate) async fn run(
        self,
        processes: &ContainedProcesses,
    ) -> Result<Result<Duration, ScriptFailure>, StopOutcome> {
        let argv = ["sh", "-c", self.run].map(OsString::from);
        let own = [("AWO_RUN_ID", self.run_id.as_str().into())];
        let variables = self.variables.iter();
        let env: Vec<(&str, OsString)> = variables
            .map(|(name, value)| (name.as_str(), value.clone()))
            .chain(own)
            .collect();
        let job = Job {
            argv: &argv,
            dir: self.dir,
            home: self.home,
            tmp: self.tmp,
            reads: &[],
            env: &env,
            limit: self.limit,
            at_timeout: AtTimeout::Kill,
            limits: self.limits,
            called_off: None,
            keep_bytes: OUTPUT_BYTES,
            heard: None,
        };
        let finished = processes.run(job).await;
        let finished = finished.map_err(|interrupted| interrupted.stopped)?;
        Ok(match &finished.end {
            End::Exited(0) => Ok(finished.took),
            end => Err(ScriptFailure {
                timed_out: *end == End::TimedOut,
                exit_code: match end {
                    End::Exited(code) => Some(*code),
                    _ => None,
                },
                took: finished.took,
                why: failure(self.run, &finished, self.limit),
            }),
        })
    }
}

/// How a command failed, its text, and the end of its output.
fn failure(run: &str, finished: &FinishedCommand, limit: Duration) -> String {
    let what = match &finished.end {
        End::TimedOut => format!("was stopped after {} s, its limit", limit.as_secs_f64()),
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
