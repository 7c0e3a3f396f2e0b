//! Programs that the plan names and this machine lacks, known before the agent starts: at once where
//! nothing could install them, and else after hooks, set-up and installation.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use awo_domain::plugin::{BuiltIn, PluginId};
use awo_domain::run::RunErrorCode;
use awo_supervisor::Limits;

use super::{Abort, Work, fail};
use crate::contained_process::{AtTimeout, End, Job};
use crate::plan::Command;
use crate::toolchains::{Probe, Program, plain_program};
use crate::verify::MissingTool;

/// Longest time of the search for them.
const PROBE_LIMIT: Duration = Duration::from_secs(20);
/// Bytes of the answer that are stored.
const KEEP_BYTES: usize = 65_536;
/// Prints the numbers of those of its arguments that are not there: triples of probe, name and folder.
const PROBE: &str = "\
n=0
while test $# -gt 0; do
  case $1 in
    module) python3 -I -c \"import $2\" ;;
    installed) command -v \"$2\" || test -x \"$3/node_modules/.bin/$2\" || test -x \"node_modules/.bin/$2\" ;;
    *) command -v \"$2\" ;;
  esac >/dev/null 2>&1 </dev/null || echo $n
  n=$((n+1)); shift 3
done";

impl Work<'_> {
    /// Ends a run whose plan names a program that nothing could install on the way: no hook, no set-up of
    /// the plan or the environment. Nothing of the repository is executed for it.
    pub(super) async fn check_tools(&self) -> Result<(), Abort> {
        if self.is_prepared_first() {
            return Ok(());
        }
        let mut programs = self.programs();
        programs.retain(|program| program.probe != Probe::Installed);
        self.find(&programs).await
    }

    /// The same once everything is installed that comes before the agent; if that failed, programs that
    /// it would have brought are left out.
    pub(super) async fn check_tools_again(&self, is_installed: bool) -> Result<(), Abort> {
        let mut programs = self.programs();
        let is_prepared_first = self.is_prepared_first();
        programs.retain(|program| match program.probe {
            Probe::Installed => is_installed,
            Probe::Command | Probe::PythonModule => is_prepared_first,
        });
        self.find(&programs).await
    }

    /// True if hooks or the environment's setup may install programs.
    fn is_prepared_first(&self) -> bool {
        let environment = self.environment.of_run.as_ref();
        let sets_up = environment.is_some_and(|one| !one.setup.is_empty());
        sets_up || !self.spec.hooks.post_create.is_empty()
    }

    async fn find(&self, programs: &[Program]) -> Result<(), Abort> {
        if programs.is_empty() {
            return Ok(());
        }
        let mut argv: Vec<OsString> = ["sh", "-c", PROBE, "sh"].map(OsString::from).to_vec();
        for program in programs {
            let probe = match program.probe {
                Probe::Command => "command",
                Probe::Installed => "installed",
                Probe::PythonModule => "module",
            };
            let folder = if program.folder.is_empty() {
                "."
            } else {
                &program.folder
            };
            argv.extend([probe, &program.name, folder].map(OsString::from));
        }
        let variables = self.environment.plain_variables();
        let env: Vec<(&str, OsString)> = variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        let layout = self.layout;
        let (dir, home, tmp) = (layout.workspace(), layout.home(), layout.tmp());
        let job = Job {
            argv: &argv,
            dir: &dir,
            home: &home,
            tmp: &tmp,
            reads: &[],
            env: &env,
            limit: PROBE_LIMIT.min(self.left()),
            at_timeout: AtTimeout::Kill,
            limits: Limits::default(),
            called_off: None,
            keep_bytes: KEEP_BYTES,
            heard: None,
        };
        let ran = self.processes.run_own(job).await;
        let finished = ran.map_err(|interrupted| Abort::Stopped(interrupted.stopped))?;
        if finished.end != End::Exited(0) {
            return Ok(());
        }
        let output = String::from_utf8_lossy(finished.stdout.bytes()).into_owned();
        let number = output.lines().find_map(|line| line.parse::<usize>().ok());
        match number.and_then(|number| programs.get(number)) {
            None => Ok(()),
            Some(program) => {
                let remedy = program.remedy.as_deref();
                Err(missing_tool(&MissingTool::new(&program.name, remedy)))
            }
        }
    }

    /// True if a verification of this run runs any command of the plan.
    pub(super) fn runs_commands(&self) -> bool {
        !self.commands().is_empty()
    }

    /// The plan's commands that a verification of this run runs.
    fn commands(&self) -> Vec<&Command> {
        let plan = &self.frozen.plan;
        let plugins = self.plugins();
        let runs = |part| {
            plugins
                .iter()
                .any(|plugin| plugin.id == PluginId::BuiltIn(part))
        };
        let mut commands: Vec<&Command> = Vec::new();
        if runs(BuiltIn::Contracts) {
            commands.extend(&plan.contracts.commands);
        }
        if runs(BuiltIn::Tests) {
            commands.extend(&plan.tests);
        }
        commands
    }

    /// The programs that toolchains name, and those of the first commands to run: of the set-up, where the
    /// plan has one.
    fn programs(&self) -> Vec<Program> {
        let plan = &self.frozen.plan;
        let mut commands = self.commands();
        if commands.is_empty() {
            return Vec::new();
        }
        if !plan.setup.is_empty() {
            commands = plan.setup.iter().take(1).collect();
        }
        let mut programs: BTreeMap<String, Program> = BTreeMap::new();
        for program in &self.frozen.programs {
            let key = format!("{}:{}", program.folder, program.name);
            programs.entry(key).or_insert_with(|| program.clone());
        }
        let literal = commands
            .into_iter()
            .filter_map(|command| plain_program(command.run.as_str()));
        for name in literal {
            let key = format!(":{name}");
            programs
                .entry(key)
                .or_insert_with(|| Program::command(name));
        }
        programs.into_values().collect()
    }
}

/// The end of a run whose plan cannot be followed here.
pub(super) fn missing_tool(missing: &MissingTool) -> Abort {
    fail(RunErrorCode::WorkspaceFailed, &missing.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_plain_command_is_known_and_of_no_other() {
        assert_eq!(plain_program("pytest -q tests/unit"), Some("pytest"));
        assert_eq!(plain_program(" cargo test "), Some("cargo"));
        for other in [
            "",
            "./x",
            "A=1 pytest",
            "pytest || true",
            "pytest\ntrue",
            "'py test'",
            "bin/x",
        ] {
            assert_eq!(plain_program(other), None, "{other}");
        }
    }
}
