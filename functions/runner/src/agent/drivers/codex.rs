//! Codex, with `exec --json`. Its input tokens include cached ones. It names no model and no cost. The
//! usage of a turn is that of the whole thread: for a resumed one it is unknown.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use awo_domain::agent::answer::tokens;
use awo_domain::usage::ModelUsage;
use serde_json::Value;

use super::records::{AgentOutput, AttemptContext, call, denied, failed, text, type_of};
use super::{Driver, Environment, Install, Start, with};

/// Most entries of a folder that are read.
const MAX_ENTRIES: usize = 100;

/// OpenAI's Codex.
#[derive(Debug)]
pub(super) struct Codex;

impl Driver for Codex {
    fn install(&self) -> Install {
        Install {
            program: "codex",
            package: "@openai/codex",
        }
    }

    fn program(&self, found: PathBuf) -> PathBuf {
        native(found)
    }

    fn args(&self, start: &Start<'_>) -> Vec<String> {
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
        // Its calls name the search of the web, which the proxy refuses then.
        let no_search = start.proxy_address.limits_hosts;
        let options = [
            ("-c", no_search.then_some("web_search=\"disabled\"")),
            ("-m", start.agent.model.as_deref()),
            ("resume", start.session_id),
        ];
        let mut args = with(&args, &options);
        args.push("-".to_owned());
        args
    }

    fn env(&self, _: &Start<'_>) -> Environment {
        Environment::new()
    }

    fn session_folder(&self, _: &Path) -> PathBuf {
        PathBuf::from(".codex/sessions")
    }

    fn bind_session(&self, _: &str) -> Option<String> {
        None
    }

    fn read(
        &self,
        records: &mut dyn Iterator<Item = Value>,
        attempted: AttemptContext<'_>,
    ) -> AgentOutput {
        let mut reported = AgentOutput::default();
        let mut completed = false;
        let mut why_failed = None;
        let mut last_error = None;
        let mut declined = Vec::new();
        for record in records {
            match type_of(&record) {
                "thread.started" => {
                    reported.session_id = text(&record, "/thread_id").map(str::to_owned);
                }
                "item.completed" => match text(&record, "/item/type") {
                    Some("agent_message") => {
                        reported.summary = text(&record, "/item/text").map(str::to_owned);
                    }
                    item if text(&record, "/item/status") == Some("declined") => {
                        declined.push(item.unwrap_or("unnamed").to_owned());
                    }
                    _ => {}
                },
                "turn.completed" => {
                    completed = true;
                    reported.usage = vec![usage(&record, attempted.model)];
                }
                "turn.failed" => {
                    let why = text(&record, "/error/message").unwrap_or("it does not say why");
                    why_failed = Some(format!("Codex failed: {why}"));
                }
                // Also written while it tries again, so that by itself it is no failure.
                "error" => last_error = text(&record, "/message").map(str::to_owned),
                _ => {}
            }
        }
        if attempted.resumed {
            reported.usage.clear();
        }
        reported.failure = why_failed
            .or_else(|| (!completed).then(|| not_completed(last_error)))
            .or_else(|| denied(declined.iter().map(String::as_str)));
        reported
    }

    fn text(&self, record: &Value) -> Vec<String> {
        let item = record.get("item").filter(|item| item.is_object());
        let part = match (type_of(record), item) {
            ("item.started", Some(item)) => Some(call(text(item, "/type"), Some(item))),
            ("item.completed", Some(item)) => match type_of(item) {
                "agent_message" => text(item, "/text").map(str::to_owned),
                "error" => text(item, "/message").map(failed),
                _ => None,
            },
            ("turn.failed", _) => text(record, "/error/message").map(failed),
            _ => None,
        };
        part.into_iter().collect()
    }
}

/// The native program behind Codex's script of that name: a killed script leaves it alive. The
/// script itself, where the package has another layout.
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

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let paths = entries
        .take(MAX_ENTRIES)
        .flatten()
        .map(|entry| entry.path());
    paths.filter(|path| path.is_dir()).collect()
}

fn not_completed(last_error: Option<String>) -> String {
    let why = last_error.map_or(String::new(), |why| format!(": {why}"));
    format!("Codex ended without completing its turn{why}")
}

fn usage(record: &Value, model: &str) -> ModelUsage {
    let input = tokens(record, "/usage/input_tokens");
    ModelUsage {
        model: model.to_owned(),
        input_tokens: input,
        output_tokens: tokens(record, "/usage/output_tokens"),
        cached_input_tokens: tokens(record, "/usage/cached_input_tokens").min(input),
        cache_write_tokens: tokens(record, "/usage/cache_write_input_tokens"),
        cost_usd: None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn codex_is_its_native_program_and_not_the_script_around_it() {
        let dir = tempfile::tempdir().unwrap();
        let modules = dir.path().join("lib/node_modules/@openai");
        let script = modules.join("codex/bin/codex.js");
        let native_program = modules.join("codex-linux-x64/vendor/x86_64/codex/codex");
        for file in [&script, &native_program] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let link = dir.path().join("codex");
        symlink(&script, &link).unwrap();
        assert_eq!(
            native(link.clone()).canonicalize().unwrap(),
            native_program.canonicalize().unwrap()
        );
        fs::remove_file(&native_program).unwrap();
        assert_eq!(native(link.clone()), link);
    }
}
