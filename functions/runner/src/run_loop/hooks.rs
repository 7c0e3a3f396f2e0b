//! The hooks of the source's template, after the clone.

use std::path::Path;
use std::time::Duration;

use awo_domain::run::RunErrorCode;

use super::{Abort, Work, fail};
use crate::limits::limits;
use crate::shell::Script;

/// Longest time that one command may take.
const HOOK_LIMIT: Duration = Duration::from_secs(600);

impl Work<'_> {
    /// Runs each command as the agent would run it, with the environment's variables and none of its
    /// secrets. The plan is frozen by now, so that none of them can change it.
    pub(super) async fn post_create(&self) -> Result<(), Abort> {
        let commands = &self.spec.hooks.post_create;
        for (i, command) in commands.iter().enumerate() {
            let which = format!("{} of {}", i + 1, commands.len());
            self.hook(&which, command).await?;
        }
        Ok(())
    }

    async fn hook(&self, which: &str, command: &str) -> Result<(), Abort> {
        let dirs = self.layout.agents_dirs();
        let measured: Vec<&Path> = dirs.iter().map(AsRef::as_ref).collect();
        let script = Script {
            run: command,
            run_id: &self.spec.run_id,
            variables: &self.environment.plain_variables(),
            dir: &dirs[0],
            home: &dirs[1],
            tmp: &dirs[2],
            limits: limits(&self.spec.profile.execution_limits, &measured),
            limit: HOOK_LIMIT.min(self.left()),
        };
        match script.run(self.processes).await? {
            Ok(took) => {
                let took_ms = super::millis(took);
                tracing::info!(
                    event = "hook_done",
                    which,
                    took_ms,
                    "a postCreate hook is done"
                );
                Ok(())
            }
            Err(failure) if failure.timed_out && self.left().is_zero() => Err(self.out_of_time()),
            Err(failure) => {
                let why = failure.why;
                let message = format!("the template's postCreate hook {which} {why}");
                Err(fail(RunErrorCode::WorkspaceFailed, &message))
            }
        }
    }
}
