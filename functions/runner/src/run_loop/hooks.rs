//! The hooks of the source's template, after the clone.

use std::ffi::OsString;
use std::time::Duration;

use awo_domain::run::RunErrorCode;

use super::{Abort, Tally, Work, fail};
use crate::contained_process::{AtTimeout, End, Job};
use crate::limits::limits;
use crate::output::last_bytes;

/// Longest time that one command may take.
const HOOK_LIMIT: Duration = Duration::from_secs(600);
/// How much of a failed command's output the run's error tells.
const TOLD_OUTPUT_BYTES: usize = 1_200;
/// How much of its text, in characters.
const TOLD_COMMAND: usize = 300;

impl Work<'_> {
    /// Runs each command as the agent would run it. The plan is frozen by now, so that none of
    /// them can change it.
    pub(super) async fn post_create(&self, tally: &mut Tally) -> Result<(), Abort> {
        let commands = &self.spec.hooks.post_create;
        tally.executed |= !commands.is_empty();
        for (i, command) in commands.iter().enumerate() {
            let which = format!("{} of {}", i + 1, commands.len());
            self.hook(&which, command).await?;
        }
        Ok(())
    }

    async fn hook(&self, which: &str, command: &str) -> Result<(), Abort> {
        let layout = self.layout;
        let argv = ["sh", "-c", command].map(OsString::from);
        let limit = HOOK_LIMIT.min(self.left());
        let [dir, home, tmp, result] = layout.agents_dirs();
        let job = Job {
            argv: &argv,
            dir: &dir,
            home: &home,
            tmp: &tmp,
            reads: &[],
            env: &[("AWO_RUN_ID", self.spec.run_id.as_str().into())],
            limit,
            at_timeout: AtTimeout::Kill,
            limits: limits(
                &self.spec.profile.execution_limits,
                &[&dir, &home, &tmp, &result],
            ),
            called_off: None,
            keep_bytes: TOLD_OUTPUT_BYTES,
            heard: None,
        };
        let finished = (self.processes.run(job).await)
            .map_err(|interrupted| Abort::Stopped(interrupted.stopped))?;
        let what = match finished.end {
            End::Exited(0) => {
                let took_ms = super::millis(finished.took);
                tracing::info!(
                    event = "hook_done",
                    which,
                    took_ms,
                    "a postCreate hook is done"
                );
                return Ok(());
            }
            End::TimedOut if self.left().is_zero() => return Err(self.out_of_time()),
            End::TimedOut => format!("was stopped after {} s, its limit", limit.as_secs()),
            End::Exited(code) => format!("ended with exit code {code}"),
            End::Signaled(signal) => format!("was killed by signal {signal}"),
            End::CalledOff(why) => format!("was stopped: {why}"),
            End::OverLimit(why) => format!("was ended: {why}"),
            End::NotStarted(why) => format!("could not be started: {why}"),
            End::SupervisorLost => "killed its supervisor".to_owned(),
        };
        let told: String = command.chars().take(TOLD_COMMAND).collect();
        let output = match finished.output.text().trim() {
            "" => "it wrote nothing".to_owned(),
            text => format!(
                "its output ends with:\n{}",
                last_bytes(text, TOLD_OUTPUT_BYTES)
            ),
        };
        let message = format!("the template's postCreate hook {which} {what}: {told}\n{output}");
        Err(fail(RunErrorCode::WorkspaceFailed, &message))
    }
}
