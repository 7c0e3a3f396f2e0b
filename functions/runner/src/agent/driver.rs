//! Drivers: command line and environment of known agent programs. A driver reads its prompt from
//! standard input, since an argument is too short for some prompts; it calls models through the
//! runner's proxy, with a key that only the proxy accepts.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use awo_domain::agent::{Agent, AgentType};
use awo_domain::control::Provider;
use serde_json::json;

use super::program::NotConfigured;
use crate::proxy::ProxyAddress;

/// What the shell does for a driver: its prompt becomes standard input.
const WITH_PROMPT: &str = "exec \"$0\" \"$@\" < \"$AWO_PROMPT\"";

/// How to get a program.
struct Install {
    program: &'static str,
    package: &'static str,
}

/// The program of a driver; nothing for agents that are no drivers.
fn install(kind: AgentType) -> Option<Install> {
    let (program, package) = match kind {
        AgentType::ClaudeCode => ("claude", "@anthropic-ai/claude-code"),
        AgentType::Codex => ("codex", "@openai/codex"),
        AgentType::Opencode => ("opencode", "opencode-ai"),
        AgentType::Command | AgentType::Patch => return None,
    };
    Some(Install { program, package })
}

/// True if the agent is a program that the runner knows how to drive.
pub(crate) fn is_driver(kind: AgentType) -> bool {
    install(kind).is_some()
}

/// Whether a driver can work at all: its program, its model and its key are there.
pub(super) fn check(agent: &Agent, path: &OsStr, keys: &[Provider]) -> Result<(), NotConfigured> {
    let Some(install) = install(agent.kind) else {
        return Ok(());
    };
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

/// Whose models a driver speaks to.
fn provider(agent: &Agent) -> Result<Provider, NotConfigured> {
    match agent.kind {
        AgentType::ClaudeCode => Ok(Provider::Anthropic),
        AgentType::Opencode => {
            let model = agent.model.as_deref().unwrap_or_default();
            let provider = model.split_once('/').map(|(provider, _)| provider);
            let mut known = Provider::KEYED.into_iter();
            known
                .find(|known| Some(known.as_str()) == provider)
                .ok_or_else(|| {
                    NotConfigured(
                        "agent.model of opencode must be anthropic/<model> or openai/<model>"
                            .to_owned(),
                    )
                })
        }
        AgentType::Codex | AgentType::Command | AgentType::Patch => Ok(Provider::Openai),
    }
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
    /// US dollars that are left, where its model's price is known.
    pub(super) usd_left: Option<f64>,
}

/// Variables beyond those of any process.
pub(super) type Environment = Vec<(&'static str, OsString)>;

/// Command line and environment of a driver; nothing for agents that are none.
pub(super) fn command(start: &Start<'_>) -> Option<(Vec<OsString>, Environment)> {
    let install = install(start.agent.kind)?;
    let program = find(install.program, start.path).unwrap_or_else(|| install.program.into());
    let (program, args, env) = match start.agent.kind {
        AgentType::ClaudeCode => (program, claude_code(start), claude_code_env(start)),
        AgentType::Codex => (native(program), codex(start), Vec::new()),
        AgentType::Opencode => (program, opencode(start), opencode_env(start)),
        AgentType::Command | AgentType::Patch => return None,
    };
    let shell = ["sh", "-c", WITH_PROMPT].map(OsString::from);
    let args = args.into_iter().map(OsString::from);
    let argv = shell.into_iter().chain([program.into()]).chain(args);
    Some((argv.collect(), env))
}

/// Flags and values; a value that is not there takes its flag along.
fn with(args: &[&str], options: &[(&str, Option<&str>)]) -> Vec<String> {
    let given = options
        .iter()
        .filter_map(|(flag, value)| value.map(|value| [*flag, value]));
    let all = args.iter().copied().chain(given.flatten());
    all.map(str::to_owned).collect()
}

fn claude_code(start: &Start<'_>) -> Vec<String> {
    let budget = start.usd_left.map(|usd| format!("{usd:.4}"));
    let args = [
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--dangerously-skip-permissions",
    ];
    let options = [
        ("--model", start.agent.model.as_deref()),
        ("--max-budget-usd", budget.as_deref()),
        ("--resume", start.session_id),
    ];
    with(&args, &options)
}

fn claude_code_env(start: &Start<'_>) -> Environment {
    let mut set = vec![
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // Without it, it tries for minutes what cannot succeed, such as a key that is refused.
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
    ];
    if start.proxy_address.has_bedrock {
        // Bedrock refuses calls with members that it does not know.
        set.push(("CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS", "1"));
    }
    let set = set.into_iter();
    set.map(|(name, value)| (name, value.into())).collect()
}

fn codex(start: &Start<'_>) -> Vec<String> {
    let base = format!(
        "model_providers.awo.base_url=\"{}/openai/v1\"",
        start.proxy_address.url
    );
    let args = [
        "exec",
        "--json",
        "--skip-git-repo-check",
        // Its own sandbox fails, with exit code 0, where there are no user namespaces.
        "--dangerously-bypass-approvals-and-sandbox",
        "-c",
        "model_provider=\"awo\"",
        "-c",
        "model_providers.awo.name=\"awo\"",
        "-c",
        &base,
        "-c",
        "model_providers.awo.env_key=\"OPENAI_API_KEY\"",
        "-c",
        "model_providers.awo.wire_api=\"responses\"",
        "-c",
        "model_providers.awo.request_max_retries=1",
        "-c",
        "model_providers.awo.stream_max_retries=1",
    ];
    let options = [
        ("-m", start.agent.model.as_deref()),
        ("resume", start.session_id),
    ];
    let mut args = with(&args, &options);
    args.push("-".to_owned());
    args
}

/// The native program behind Codex's script of that name: a killed script leaves it alive. The
/// script itself, where the package looks otherwise.
fn native(program: PathBuf) -> PathBuf {
    let Ok(script) = program.canonicalize() else {
        return program;
    };
    // <package>/bin/codex.js; the native program is in the package or in one for the platform,
    // which lies in it or beside it.
    let Some(package) = script.parent().and_then(Path::parent) else {
        return program;
    };
    let inside = package.join("node_modules/@openai");
    let platforms = [Some(inside.as_path()), package.parent()];
    let platforms = platforms.into_iter().flatten().flat_map(folders);
    let of_codex = |dir: &PathBuf| {
        let name = dir.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| name.starts_with("codex-"))
    };
    let packages = [package.to_owned()].into_iter();
    let mut targets = packages
        .chain(platforms.filter(of_codex))
        .flat_map(|package| folders(&package.join("vendor")));
    let native = targets.find_map(|target| {
        let places = ["codex/codex", "bin/codex"].map(|place| target.join(place));
        places.into_iter().find(|place| place.is_file())
    });
    native.unwrap_or(program)
}

/// At most so many entries of a folder are looked at.
const MAX_ENTRIES: usize = 100;

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let paths = entries
        .take(MAX_ENTRIES)
        .flatten()
        .map(|entry| entry.path());
    paths.filter(|path| path.is_dir()).collect()
}

fn opencode(start: &Start<'_>) -> Vec<String> {
    let options = [
        ("-m", start.agent.model.as_deref()),
        ("--session", start.session_id),
    ];
    with(&["run", "--format", "json"], &options)
}

fn opencode_env(start: &Start<'_>) -> Environment {
    let provider = |name: &str| {
        let base = format!("{}/{name}/v1", start.proxy_address.url);
        json!({"options": {"baseURL": base, "apiKey": start.proxy_address.key}})
    };
    let config = json!({
        "autoupdate": false,
        "share": "disabled",
        "permission": {"*": "allow"},
        // A title is for people who look through their sessions; it would cost a call.
        "agent": {"title": {"disable": true}},
        "provider": {"anthropic": provider("anthropic"), "openai": provider("openai")},
    });
    vec![("OPENCODE_CONFIG_CONTENT", config.to_string().into())]
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
