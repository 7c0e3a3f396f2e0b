//! Drivers: agent programs that the runner knows. Each has a file with all that is true of it alone:
//! how it is installed, command line and environment, and how its output is read.
//!
//! A driver reads its prompt from standard input, since an argument is too short for some prompts;
//! it calls models through the runner's proxy, with a key that only the proxy accepts.

mod claude_code;
mod codex;
mod opencode;
mod records;

use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use awo_domain::agent::{Agent, AgentType};
use awo_domain::control::Provider;
use serde_json::Value;

use crate::proxy::ProxyAddress;
pub(crate) use records::{AgentOutput, parse, viewer_text};

/// What the shell does for a driver: its prompt becomes standard input.
const WITH_PROMPT: &str = "exec \"$0\" \"$@\" < \"$AWO_PROMPT\"";

/// There is no agent to run; the sentence says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotConfigured(pub(crate) String);

/// How an agent's type is started.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A command of the work order's or the repository's.
    Command,
    /// A patch of the repository's.
    Patch,
    Driver(&'static dyn Driver),
    /// None: a commit is verified as it is.
    NoAgent,
}

impl Kind {
    /// The runner's one table of agent types: nothing else here matches them.
    pub(super) fn of(kind: AgentType) -> Kind {
        match kind {
            AgentType::Command => Kind::Command,
            AgentType::Patch => Kind::Patch,
            AgentType::ClaudeCode => Kind::Driver(&claude_code::ClaudeCode),
            AgentType::Codex => Kind::Driver(&codex::Codex),
            AgentType::Opencode => Kind::Driver(&opencode::Opencode),
            AgentType::Verify => Kind::NoAgent,
        }
    }
}

/// What is true of one agent program alone. Nothing has a default: a new driver gets no other
/// one's settings.
pub(super) trait Driver: Debug + Sync {
    fn install(&self) -> Install;

    /// The program that is started, given the first of its name in the PATH.
    fn program(&self, found: PathBuf) -> PathBuf;

    /// The program's arguments.
    fn args(&self, start: &Start<'_>) -> Vec<String>;

    /// Variables beyond those of any process.
    fn env(&self, start: &Start<'_>) -> Environment;

    /// The folder with the files of its sessions in a workspace, below the agent's home.
    fn session_folder(&self, workspace: &Path) -> PathBuf;

    /// Shell commands, with the program as `$0`, that bind a session of another workspace to the current folder; none
    /// if it needs no binding. They write nothing to standard output.
    fn bind_session(&self, session_id: &str) -> Option<String>;

    /// What its records report of an attempt; [`parse`] bounds it.
    fn read(
        &self,
        records: &mut dyn Iterator<Item = Value>,
        attempted: records::AttemptContext<'_>,
    ) -> AgentOutput;

    /// A record's text for viewers, in lines.
    fn text(&self, record: &Value) -> Vec<String>;
}

/// How to get a program.
pub(super) struct Install {
    program: &'static str,
    /// At npm.
    package: &'static str,
}

/// The driver of an agent type; nothing for agents that are no drivers.
fn driver(kind: AgentType) -> Option<&'static dyn Driver> {
    match Kind::of(kind) {
        Kind::Command | Kind::Patch | Kind::NoAgent => None,
        Kind::Driver(driver) => Some(driver),
    }
}

/// True if the agent is a program that the runner knows how to drive.
pub(crate) fn is_driver(kind: AgentType) -> bool {
    driver(kind).is_some()
}

/// The folder with the files of a driver's sessions in a workspace, below the agent's home; none for agents
/// that are no drivers.
pub(crate) fn session_folder(kind: AgentType, workspace: &Path) -> Option<PathBuf> {
    driver(kind).map(|driver| driver.session_folder(workspace))
}

/// Whether a driver can work at all: its program, its model and its key are there.
pub(super) fn check(agent: &Agent, path: &OsStr, keys: &[Provider]) -> Result<(), NotConfigured> {
    let Some(driver) = driver(agent.kind) else {
        return Ok(());
    };
    let install = driver.install();
    let name = agent.kind.as_str();
    if find(install.program, path).is_none() {
        return Err(NotConfigured(format!(
            "the runner of this deployment does not have the agent {name}: no program `{}` is in \
             its PATH. Have the operator put it into the runner's image (npm install -g {}), or \
             choose another agent type",
            install.program, install.package
        )));
    }
    let provider = provider(agent)?;
    if !keys.contains(&provider) {
        let provider = provider.as_str();
        return Err(NotConfigured(format!(
            "the agent {name} needs a key for {provider}, and the organization has none: have the \
             operator set it with `awo admin set-secret --name {provider}`"
        )));
    }
    Ok(())
}

/// The provider of a driver's models: where it speaks to several providers, its model names one.
fn provider(agent: &Agent) -> Result<Provider, NotConfigured> {
    let spoken = agent.kind.providers();
    if let [only] = spoken {
        return Ok(*only);
    }
    let model = agent.model.as_deref().unwrap_or_default();
    let named = model.split_once('/').map(|(provider, _)| provider);
    let found = spoken.iter().find(|one| Some(one.as_str()) == named);
    found.copied().ok_or_else(|| {
        let forms: Vec<String> = spoken
            .iter()
            .map(|one| format!("{}/<model>", one.as_str()))
            .collect();
        NotConfigured(format!(
            "agent.model of {} must be {}",
            agent.kind.as_str(),
            forms.join(" or ")
        ))
    })
}

/// The first program of that name in the PATH.
fn find(program: &str, path: &OsStr) -> Option<PathBuf> {
    let mut places = std::env::split_paths(path).map(|dir| dir.join(program));
    places.find(|place| place.is_file())
}

/// What a driver is started with.
pub(super) struct Start<'a> {
    pub(super) agent: &'a Agent,
    pub(super) path: &'a OsStr,
    pub(super) proxy_address: &'a ProxyAddress,
    /// What it resumes.
    pub(super) session_id: Option<&'a str>,
    /// True if that is of another workspace.
    pub(super) is_moved: bool,
    /// US dollars that are left, where its model's price is known.
    pub(super) usd_left: Option<f64>,
}

/// Variables beyond those of any process.
pub(super) type Environment = Vec<(&'static str, OsString)>;

/// Command line and environment of a driver; nothing for agents that are none.
pub(super) fn command(start: &Start<'_>) -> Option<(Vec<OsString>, Environment)> {
    let driver = driver(start.agent.kind)?;
    let name = driver.install().program;
    let program = find(name, start.path).unwrap_or_else(|| name.into());
    let moved = start.session_id.filter(|_| start.is_moved);
    let script = match moved.and_then(|id| driver.bind_session(id)) {
        Some(bind) => format!("{bind} || exit; {WITH_PROMPT}"),
        None => WITH_PROMPT.to_owned(),
    };
    let shell = ["sh", "-c", &script].map(OsString::from);
    let args = driver.args(start).into_iter().map(OsString::from);
    let argv = shell
        .into_iter()
        .chain([driver.program(program).into()])
        .chain(args);
    Some((argv.collect(), driver.env(start)))
}

/// Flags and values; a value that is not there takes its flag along.
fn with(args: &[&str], options: &[(&str, Option<&str>)]) -> Vec<String> {
    let given = options
        .iter()
        .filter_map(|(flag, value)| value.map(|value| [*flag, value]));
    let all = args.iter().copied().chain(given.flatten());
    all.map(str::to_owned).collect()
}

/// How any agent finds the models of the organization: the names are those that the providers'
/// own libraries read. The key is the proxy's.
pub(super) fn models(proxy_address: &ProxyAddress) -> Environment {
    let mut env = Environment::new();
    for provider in &proxy_address.providers {
        let (url, key, base) = match provider {
            Provider::Anthropic | Provider::Bedrock => {
                ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "/anthropic")
            }
            Provider::Openai => ("OPENAI_BASE_URL", "OPENAI_API_KEY", "/openai/v1"),
        };
        env.push((url, format!("{}{base}", proxy_address.url).into()));
        env.push((key, proxy_address.key.clone().into()));
    }
    env
}

#[cfg(test)]
mod tests;
