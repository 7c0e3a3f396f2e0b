//! The hooks of the source's template, after the clone.

use std::path::Path;
use std::time::Duration;

use awo_domain::run::RunErrorCode;

use super::shell::Script;
use super::{Abort, Tally, Work, fail};

/// Longest time that one command may take.
const HOOK_LIMIT: Duration = Duration::from_secs(600);

impl Work<'_> {
    /// Runs each command as the agent would run it, with the environment's variables and none of its
    /// secrets. The plan is frozen by now, so that none of them can change it.
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
        let dirs = self.layout.agents_dirs();
        let measured: Vec<&Path> = dirs.iter().map(AsRef::as_ref).collect();
        let script = Script {
            run: command,
            variables: &self.environment.plain_variables(),
            dir: &dirs[0],
            home: &dirs[1],
            tmp: &dirs[2],
            measured: &measured,
            limit: HOOK_LIMIT,
        };
        match self.shell(&script).await? {
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
            Err(why) => {
                let message = format!("the template's postCreate hook {which} {why}");
                Err(fail(RunErrorCode::WorkspaceFailed, &message))
            }
        }
    }
}
