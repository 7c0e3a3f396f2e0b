//! Order of a verification's commands: set-up and installation once, before the first command of any
//! level; then each command whose needs are met. What is not run is a skipped check with the reason.

use awo_domain::verification::{Check, Status};

use super::commands::{Ran, worst};
use super::missing::Base;
use super::{Kind, MissingTool, Verification, check};
use crate::contained_process::{End, FinishedCommand};
use crate::plan::{Command, SET_UP, ordered};
use crate::stop::StopOutcome;

impl Verification<'_> {
    /// Runs set-up and installation if they were not; false if no command of the plan can be run.
    pub(super) async fn set_up(&mut self, checks: &mut Vec<Check>) -> Result<bool, StopOutcome> {
        if let Some(done) = self.set_up {
            return Ok(done);
        }
        for command in &self.plan.setup {
            let passed = self.prepare(command, SET_UP, checks).await?;
            if !passed {
                self.set_up = Some(false);
                return Ok(false);
            }
        }
        // Each is of one unit: those of others are run all the same.
        for command in self.install {
            self.prepare(command, "", checks).await?;
        }
        // Files that an installation makes are not left behind by the plan's commands.
        if !self.install.is_empty() && self.differed_before.is_some() {
            self.differed_before = self.differing().await?;
        }
        self.set_up = Some(true);
        Ok(true)
    }

    async fn prepare(
        &mut self,
        command: &Command,
        prefix: &str,
        checks: &mut Vec<Check>,
    ) -> Result<bool, StopOutcome> {
        let mut ran = self.command(command, Kind::Other).await?;
        for check in &mut ran.checks {
            check.name = format!("{prefix}{}", check.name);
        }
        self.judge_machine(command, &mut ran, true).await;
        Ok(self.record(command, checks, ran))
    }

    /// Makes an error of a failure that is the machine's own.
    async fn judge_machine(&self, command: &Command, ran: &mut Ran, is_install: bool) {
        let own = ran.checks.first_mut();
        let Some(own) = own.filter(|own| own.status == Status::Failed) else {
            return;
        };
        let run = command.run.as_str();
        if let Some(why) = self.machine_fault(run, &own.message, is_install).await {
            let fault = MissingTool::of_machine(&own.name, &why);
            own.status = Status::Error;
            own.message = format!("{why}; {}", own.message);
            ran.missing.get_or_insert(fault);
        }
    }

    /// Stores a command's checks and whether it passes.
    fn record(&mut self, command: &Command, checks: &mut Vec<Check>, ran: Ran) -> bool {
        let passes = worst(&ran.checks).passes();
        let entry = self.outcomes.entry(command.name().to_owned());
        *entry.or_insert(true) &= passes;
        self.keep(checks, ran);
        passes
    }

    /// Set-up, then these commands; all of them, so that an agent learns of all that is wrong.
    pub(super) async fn commands(
        &mut self,
        commands: &[Command],
        kind: Kind,
    ) -> Result<Vec<Check>, StopOutcome> {
        let mut checks = Vec::new();
        if commands.is_empty() {
            return Ok(checks);
        }
        if !self.set_up(&mut checks).await? {
            let skipped = commands.iter();
            checks.extend(skipped.map(|command| skipped_check(command, "the set-up")));
            return Ok(checks);
        }
        for command in ordered(commands) {
            self.needed(command, &mut checks).await?;
            match self.unmet(command) {
                Some(need) => {
                    self.outcomes.insert(command.name().to_owned(), false);
                    checks.push(skipped_check(command, &need));
                }
                None => {
                    let mut ran = self.tried(command, kind).await?;
                    self.judge_machine(command, &mut ran, false).await;
                    self.record(command, &mut checks, ran);
                }
            }
        }
        Ok(checks)
    }

    /// Runs the commands of the contracts that this one needs, if their own level did not.
    async fn needed(
        &mut self,
        command: &Command,
        checks: &mut Vec<Check>,
    ) -> Result<(), StopOutcome> {
        let names: Vec<&str> = command.needs().collect();
        if names.iter().all(|name| self.outcomes.contains_key(*name)) {
            return Ok(());
        }
        let plan = self.plan;
        let mut needed_names: Vec<&str> = names;
        let order = ordered(&plan.contracts.commands);
        for other in order.iter().rev() {
            if needed_names.contains(&other.name()) {
                needed_names.extend(other.needs());
            }
        }
        for other in order {
            let is_open = !self.outcomes.contains_key(other.name());
            if std::ptr::eq(other, command) || !is_open || !needed_names.contains(&other.name()) {
                continue;
            }
            match self.unmet(other) {
                Some(need) => {
                    self.outcomes.insert(other.name().to_owned(), false);
                    checks.push(skipped_check(other, &need));
                }
                None => {
                    let ran = self.tried(other, Kind::Other).await?;
                    self.record(other, checks, ran);
                }
            }
        }
        Ok(())
    }

    /// The program that a command missed, if it ended so and is not the agent's to bring.
    pub(super) fn missing_of(
        &self,
        command: &Command,
        finished: &FinishedCommand,
    ) -> Option<MissingTool> {
        let End::Exited(code) = finished.end else {
            return None;
        };
        let base = Base {
            subject: self.subject,
            manifests: self.manifests,
            programs: self.programs,
        };
        MissingTool::of(command, code, &finished.output, &base)
    }

    /// The first need of a command that did not pass. One that is not part of this verification, such
    /// as an installation that the environment's setup stands for, is met.
    fn unmet(&self, command: &Command) -> Option<String> {
        let mut needs = command.needs();
        let need = needs.find(|need| self.outcomes.get(*need) == Some(&false))?;
        Some(format!("{need:?}"))
    }
}

fn skipped_check(command: &Command, need: &str) -> Check {
    let message = format!("not run: it needs {need}, which did not pass");
    check(command.name(), Status::Skipped, &message)
}
