//! Tools that the plan names and this machine lacks, detected before the agent starts.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use awo_domain::plugin::{BuiltIn, PluginId};
use awo_domain::run::RunErrorCode;
use awo_supervisor::Limits;

use super::{Abort, Work, fail};
use crate::contained_process::{AtTimeout, End, Job};
use crate::plan::Command;
use crate::verify::MissingTool;

/// Longest time of the search for them.
const PROBE_LIMIT: Duration = Duration::from_secs(20);
/// Bytes of the answer that are stored.
const KEEP_BYTES: usize = 4_096;
/// Prints those of its arguments that are no commands.
const PROBE: &str = "for name; do command -v \"$name\" >/dev/null 2>&1 || echo \"$name\"; done";

impl Work<'_> {
    /// Ends a run whose plan names a program that is still missing after hooks and the environment's
    /// setup. Nothing of the repository is executed for it, so a run without them is free.
    pub(super) async fn check_tools(&self) -> Result<(), Abort> {
        let names = self.tools();
        if names.is_empty() {
            return Ok(());
        }
        let mut argv: Vec<OsString> = ["sh", "-c", PROBE, "sh"].map(OsString::from).to_vec();
        argv.extend(names.iter().map(OsString::from));
        let layout = self.layout;
        let (home, tmp) = (layout.home(), layout.tmp());
        let job = Job {
            argv: &argv,
            dir: &tmp,
            home: &home,
            tmp: &tmp,
            reads: &[],
            env: &[],
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
        let missing = output.lines().find(|name| names.contains(*name));
        match missing {
            None => Ok(()),
            Some(name) => Err(missing_tool(&MissingTool::of_name(name))),
        }
    }

    /// The programs of the first commands to run: of the set-up, where the plan has one.
    fn tools(&self) -> BTreeSet<String> {
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
        if !commands.is_empty() && !plan.setup.is_empty() {
            commands = plan.setup.iter().take(1).collect();
        }
        let program = |command: &Command| program(command.run.as_str());
        commands.into_iter().filter_map(program).collect()
    }
}

/// The end of a run whose plan cannot be followed here.
pub(super) fn missing_tool(missing: &MissingTool) -> Abort {
    fail(RunErrorCode::WorkspaceFailed, &missing.to_string())
}

/// The program that a line runs, where that is plain to see: a bare name, and nothing that the shell
/// would understand as more than words.
fn program(run: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._-+/:,@=".contains(c);
    let name = run.trim().split(' ').next()?;
    let bare = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    let is_name = !name.is_empty() && name.chars().all(bare) && !name.starts_with(['-', '.']);
    (run.chars().all(plain) && is_name).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_plain_command_is_known_and_of_no_other() {
        assert_eq!(program("pytest -q tests/unit"), Some("pytest".to_owned()));
        assert_eq!(program(" cargo test "), Some("cargo".to_owned()));
        for other in [
            "",
            "./x",
            "A=1 pytest",
            "pytest || true",
            "pytest\ntrue",
            "'py test'",
            "bin/x",
        ] {
            assert_eq!(program(other), None, "{other}");
        }
    }
}
