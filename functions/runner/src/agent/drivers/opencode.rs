//! opencode, with `run --format json`. Its input tokens exclude cache reads and writes, and its output
//! excludes reasoning.

use std::path::{Path, PathBuf};

use awo_domain::agent::answer::tokens;
use awo_domain::usage::ModelUsage;
use serde_json::{Value, json};

use super::records::{AgentOutput, AttemptContext, call, denied, failed, text, type_of};
use super::{Driver, Environment, Install, Start, with};

/// The error of a tool that was not allowed. Any other error of a tool is for the model
/// to deal with.
const DENIALS: [&str; 2] = ["rejected permission", "rule which prevents you"];

/// opencode.
#[derive(Debug)]
pub(super) struct Opencode;

impl Driver for Opencode {
    fn install(&self) -> Install {
        Install {
            program: "opencode",
            package: "opencode-ai",
        }
    }

    fn program(&self, found: PathBuf) -> PathBuf {
        found
    }

    fn args(&self, start: &Start<'_>) -> Vec<String> {
        let options = [
            ("-m", start.agent.model.as_deref()),
            ("--session", start.session_id),
        ];
        with(&["run", "--format", "json"], &options)
    }

    fn env(&self, start: &Start<'_>) -> Environment {
        let provider = |name: &str| {
            let base = format!("{}/{name}/v1", start.proxy_address.url);
            json!({"options": {"baseURL": base, "apiKey": start.proxy_address.key}})
        };
        let config = json!({
            "autoupdate": false,
            "share": "disabled",
            "permission": {"*": "allow"},
            // A title is for people who browse their sessions; it would cost a call.
            "agent": {"title": {"disable": true}},
            "provider": {"anthropic": provider("anthropic"), "openai": provider("openai")},
        });
        vec![("OPENCODE_CONFIG_CONTENT", config.to_string().into())]
    }

    fn session_folder(&self, _: &Path) -> PathBuf {
        PathBuf::from(".local/share/opencode")
    }

    /// It works in the folder of the session, which an import sets.
    fn bind_session(&self, session_id: &str) -> Option<String> {
        const FILE: &str = "\"$TMPDIR/session.json\"";
        let moved =
            format!("\"$0\" export {session_id} > {FILE} && \"$0\" import {FILE} > /dev/null");
        Some(format!("{{ {moved} && rm {FILE}; }}"))
    }

    fn read(
        &self,
        records: &mut dyn Iterator<Item = Value>,
        attempted: AttemptContext<'_>,
    ) -> AgentOutput {
        let mut reported = AgentOutput::default();
        let mut refused = Vec::new();
        let mut why_failed = None;
        for record in records {
            reported.session_id = text(&record, "/sessionID")
                .map(str::to_owned)
                .or(reported.session_id);
            match type_of(&record) {
                "text" => reported.summary = text(&record, "/part/text").map(str::to_owned),
                "step_finish" => reported.usage.push(usage(&record, attempted.model)),
                "tool_use" => {
                    let error = text(&record, "/part/state/error").unwrap_or_default();
                    if DENIALS.iter().any(|denial| error.contains(denial)) {
                        let tool = text(&record, "/part/tool").unwrap_or("unnamed");
                        refused.push(tool.to_owned());
                    }
                }
                "error" => {
                    let why = text(&record, "/error/data/message")
                        .or_else(|| text(&record, "/error/message"))
                        .or_else(|| text(&record, "/error/name"))
                        .unwrap_or("it does not say why");
                    why_failed = Some(format!("opencode failed: {why}"));
                }
                _ => {}
            }
        }
        let no_step = reported.usage.is_empty();
        reported.failure = why_failed
            .or_else(|| no_step.then(|| "opencode ended without finishing a step".to_owned()))
            .or_else(|| denied(refused.iter().map(String::as_str)));
        reported
    }

    fn text(&self, record: &Value) -> Vec<String> {
        let part = match type_of(record) {
            "text" => text(record, "/part/text").map(str::to_owned),
            "tool_use" => {
                let input = record.pointer("/part/state/input");
                let call = call(text(record, "/part/tool"), input);
                match text(record, "/part/state/error") {
                    Some(why) => Some(format!("{call}\n{}", failed(why))),
                    None => Some(call),
                }
            }
            "error" => text(record, "/error/data/message")
                .or_else(|| text(record, "/error/name"))
                .map(failed),
            _ => None,
        };
        part.into_iter().collect()
    }
}

fn usage(record: &Value, model: &str) -> ModelUsage {
    let count = |name: &str| tokens(record, &format!("/part/tokens/{name}"));
    let (cached, written) = (count("cache/read"), count("cache/write"));
    ModelUsage {
        model: model.to_owned(),
        input_tokens: count("input") + written + cached,
        output_tokens: count("output") + count("reasoning"),
        cached_input_tokens: cached,
        cache_write_tokens: written,
        cost_usd: record.pointer("/part/cost").and_then(Value::as_f64),
    }
}
