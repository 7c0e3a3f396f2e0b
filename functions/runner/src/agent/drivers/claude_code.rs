//! Claude Code, with `--output-format stream-json`: everything that counts is in its `result` record.
//!
//! The exit code and the subtype mislead: a denied tool leaves 0, and 401, 500 or no server at
//! all leave the subtype `success` beside `is_error`.

use std::path::{Path, PathBuf};

use awo_domain::agent::answer::tokens;
use awo_domain::usage::ModelUsage;
use serde_json::Value;

use super::records::{AgentOutput, AttemptContext, call, denied, failed, text, type_of};
use super::{Driver, Environment, Install, Start, with};

/// The subtype of a result whose `--max-budget-usd` was used up.
const OVER_BUDGET: &str = "error_max_budget_usd";

/// Anthropic's Claude Code.
#[derive(Debug)]
pub(super) struct ClaudeCode;

impl Driver for ClaudeCode {
    fn install(&self) -> Install {
        Install {
            program: "claude",
            package: "@anthropic-ai/claude-code",
        }
    }

    fn program(&self, found: PathBuf) -> PathBuf {
        found
    }

    fn args(&self, start: &Start<'_>) -> Vec<String> {
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

    fn env(&self, start: &Start<'_>) -> Environment {
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

    /// Named after the workspace: each character that is no letter or digit of ASCII is a dash.
    fn session_folder(&self, workspace: &Path) -> PathBuf {
        let dashed = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = workspace.to_string_lossy().chars().map(dashed).collect();
        [".claude", "projects", &name].iter().collect()
    }

    fn bind_session(&self, _: &str) -> Option<String> {
        None
    }

    fn read(
        &self,
        records: &mut dyn Iterator<Item = Value>,
        attempted: AttemptContext<'_>,
    ) -> AgentOutput {
        let mut session_id = None;
        let mut result = None;
        for record in records {
            session_id = text(&record, "/session_id")
                .map(str::to_owned)
                .or(session_id);
            if type_of(&record) == "result" {
                result = Some(record);
            }
        }
        let Some(result) = result else {
            return AgentOutput {
                session_id,
                failure: Some("Claude Code ended without a result".to_owned()),
                ..AgentOutput::default()
            };
        };
        AgentOutput {
            summary: text(&result, "/result").map(str::to_owned),
            session_id,
            usage: usage(&result, attempted.model),
            failure: failure(&result),
            over_budget: text(&result, "/subtype") == Some(OVER_BUDGET),
        }
    }

    fn text(&self, record: &Value) -> Vec<String> {
        let blocks = record.pointer("/message/content").and_then(Value::as_array);
        let blocks = blocks.into_iter().flatten();
        let parts = blocks.filter_map(|block| match (type_of(record), type_of(block)) {
            ("assistant", "text") => text(block, "/text").map(str::to_owned),
            ("assistant", "tool_use") => Some(call(text(block, "/name"), block.get("input"))),
            ("user", "tool_result") if block.get("is_error") == Some(&Value::Bool(true)) => {
                text(block, "/content").map(failed)
            }
            _ => None,
        });
        parts.collect()
    }
}

fn failure(result: &Value) -> Option<String> {
    let reported = text(result, "/result");
    match text(result, "/subtype") {
        Some("success") => {}
        Some(OVER_BUDGET) => return Some("Claude Code has used up its budget".to_owned()),
        subtype => {
            let why = reported.or_else(|| text(result, "/errors/0"));
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            let subtype = subtype.unwrap_or("no subtype");
            return Some(format!("Claude Code failed with {subtype}{why}"));
        }
    }
    if result.get("is_error").and_then(Value::as_bool) != Some(false) {
        let why = reported.unwrap_or("it does not say why");
        return Some(format!("Claude Code failed: {why}"));
    }
    let denials = result.get("permission_denials").and_then(Value::as_array);
    let tools = denials.into_iter().flatten();
    denied(tools.map(|denial| text(denial, "/tool_name").unwrap_or("unnamed")))
}

/// Of this attempt, by model; older versions give one sum. `modelUsage` and `total_cost_usd` are
/// of the whole session, which a resumed attempt would count again.
fn usage(result: &Value, model: &str) -> Vec<ModelUsage> {
    let by_model = result
        .get("model_usage_since_last_result")
        .and_then(Value::as_object);
    if let Some(by_model) = by_model {
        let names = ["inputTokens", "cacheCreationInputTokens"];
        let names = (names, "cacheReadInputTokens", "outputTokens");
        let one = |(model, used): (&String, &Value)| one(model, used, names);
        return by_model.iter().map(one).collect();
    }
    let names = ["input_tokens", "cache_creation_input_tokens"];
    let names = (names, "cache_read_input_tokens", "output_tokens");
    let sum = result.get("usage").filter(|used| used.is_object());
    sum.map(|used| one(model, used, names))
        .into_iter()
        .collect()
}

/// The names of its counts: fresh and written to the cache, read from it, output.
type Names<'a> = ([&'a str; 2], &'a str, &'a str);

fn one(model: &str, used: &Value, ([fresh, write], read, output): Names<'_>) -> ModelUsage {
    let count = |name: &str| tokens(used, &format!("/{name}"));
    let (written, cached) = (count(write), count(read));
    ModelUsage {
        model: model.to_owned(),
        input_tokens: count(fresh) + written + cached,
        output_tokens: count(output),
        cached_input_tokens: cached,
        cache_write_tokens: written,
        cost_usd: used.get("costUSD").and_then(Value::as_f64),
    }
}
