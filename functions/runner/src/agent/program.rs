//! An agent's program: an argument vector, or the reason why there is none.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use awo_domain::agent::Agent;
use awo_domain::control::Provider;

use super::drivers::{self, Kind, NotConfigured};

/// The repository's own agent.
const AGENT_FILE: &str = ".awo/agent.sh";

/// What an iteration runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Program {
    /// This argument vector.
    Command(Vec<OsString>),
    /// A program that the runner knows; how it is started depends on what is left of the budget.
    Driver,
}

/// Whether this runner has the agent at all, and it has its key; known before anything is cloned.
pub(crate) fn check_type(
    agent: &Agent,
    path: &OsStr,
    keys: &[Provider],
) -> Result<(), NotConfigured> {
    match Kind::of(agent.kind) {
        Kind::Command if agent.command.as_ref().is_some_and(Vec::is_empty) => Err(NotConfigured(
            "agent.command is empty: give it a program".to_owned(),
        )),
        Kind::Command | Kind::Patch | Kind::NoAgent => Ok(()),
        Kind::Driver(_) => drivers::check(agent, path, keys),
    }
}

/// The program of an iteration.
pub(crate) fn program(
    agent: &Agent,
    workspace: &Path,
    iteration: u32,
) -> Result<Program, NotConfigured> {
    let argv = match (Kind::of(agent.kind), &agent.command) {
        (Kind::Command, Some(command)) => command.iter().map(OsString::from).collect(),
        (Kind::Command, None) => own_agent(workspace)?,
        (Kind::Patch, _) => patch(workspace, iteration)?,
        (Kind::Driver(_), _) => return Ok(Program::Driver),
        (Kind::NoAgent, _) => {
            let why = "a work order of the agent type verify has no agent";
            return Err(NotConfigured(why.to_owned()));
        }
    };
    Ok(Program::Command(argv))
}

fn own_agent(workspace: &Path) -> Result<Vec<OsString>, NotConfigured> {
    let path = workspace.join(AGENT_FILE);
    match fs::metadata(&path) {
        Ok(meta) if meta.is_file() && meta.permissions().mode() & 0o111 != 0 => {
            Ok(vec![path.into_os_string()])
        }
        Ok(_) => Err(NotConfigured(format!(
            "{AGENT_FILE} is not an executable file: chmod +x it and commit that, or set agent.command"
        ))),
        Err(_) => Err(NotConfigured(format!(
            "there is no agent: set agent.command, or add an executable {AGENT_FILE} to the \
             repository and commit it (what is not committed is not part of a run)"
        ))),
    }
}

/// The patch is applied by the agent's user in the agent's copy of the repository, like anything
/// else that a repository brings along.
fn patch(workspace: &Path, iteration: u32) -> Result<Vec<OsString>, NotConfigured> {
    let path = format!(".awo/patches/{iteration}.patch");
    if !workspace.join(&path).is_file() {
        return Err(NotConfigured(format!(
            "there is no patch for this iteration: add {path} to the repository"
        )));
    }
    let args = ["git", "-c", "core.hooksPath=/dev/null", "apply"];
    let rest = ["--whitespace=nowarn", "--", &path];
    Ok(args.into_iter().chain(rest).map(OsString::from).collect())
}
