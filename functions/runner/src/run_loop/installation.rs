//! Installation of what a detected plan needs, in the agent's workspace before the agent begins. What it
//! leaves there is no change of the agent.

use std::time::Duration;

use awo_domain::run::RunErrorCode;

use super::setup::not_set_up;
use super::{Abort, Work, fail};
use crate::contained_process::Variables;
use crate::limits::limits;
use crate::plan::Command;
use crate::shell::Script;
use crate::verify::{CI, Network};

impl Work<'_> {
    /// The plan's installations; none where the environment has a setup of its own.
    pub(super) fn installs(&self) -> Vec<Command> {
        let environment = self.environment.of_run.as_ref();
        if environment.is_some_and(|one| !one.setup.is_empty()) {
            return Vec::new();
        }
        self.frozen.installs()
    }

    /// Installs; false if something failed. That is left to the verification, since an agent may have been given just that to
    /// correct; all that it started is dead when it returns.
    pub(super) async fn install(&self) -> Result<bool, Abort> {
        let installs = self.installs();
        if installs.is_empty() || !self.runs_commands() {
            return Ok(true);
        }
        let mut is_installed = true;
        let before = self.repository.differing_now().await.map_err(not_set_up)?;
        self.localize_names()?;
        let layout = self.layout;
        let (workspace, home, tmp) = (layout.workspace(), layout.home(), layout.tmp());
        let mut variables: Variables = vec![(CI.0.to_owned(), CI.1.into())];
        variables.extend(self.environment.plain_variables());
        let network = Network {
            processes: self.processes,
            home: &home,
            tmp: &tmp,
            variables: &variables,
        };
        for command in installs {
            let script = Script {
                run: command.run.as_str(),
                run_id: &self.spec.run_id,
                variables: &variables,
                dir: &workspace,
                home: &home,
                tmp: &tmp,
                limits: limits(
                    &self.spec.profile.execution_limits,
                    &[&workspace, &home, &tmp],
                ),
                limit: command.limit().min(self.left()),
            };
            match script.run(self.processes).await? {
                Ok(took) => log_done(command.name(), took),
                Err(failure) if failure.timed_out && self.left().is_zero() => {
                    return Err(self.out_of_time());
                }
                Err(failure) => {
                    let (name, why) = (command.name(), failure.why);
                    let environment = self.environment.of_run.as_ref();
                    let refused = self.registries.refused();
                    if let Some(of_run) = environment.filter(|_| !refused.is_empty()) {
                        let message = refused.explain(format!("{name} {why}"), &of_run.name);
                        return Err(fail(RunErrorCode::WorkspaceFailed, &message));
                    }
                    // Nothing but the base is there yet.
                    if let Some(fault) = network.fault(command.run.as_str(), &why, |_| false).await
                    {
                        let message = format!("{name}: {fault}");
                        return Err(fail(RunErrorCode::WorkspaceFailed, &message));
                    }
                    is_installed = false;
                    tracing::info!(
                        event = "install_failed",
                        name,
                        why,
                        "an installation failed"
                    );
                }
            }
        }
        self.restore_names()?;
        let noted = self.repository.note_setup(&before).await;
        noted.map_err(not_set_up)?;
        let ignored = self.repository.ignore_untracked().await;
        ignored.map_err(not_set_up)?;
        Ok(is_installed)
    }
}

fn log_done(name: &str, took: Duration) {
    let took_ms = super::millis(took);
    tracing::info!(
        event = "install_done",
        name,
        took_ms,
        "an installation is done"
    );
}
