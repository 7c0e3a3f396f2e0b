//! Codex's `exec --json`. Its input tokens include cached ones. It names no model and no cost. The
//! usage of a turn is that of the whole thread: for a resumed one it is unknown.

use serde_json::Value;

use super::{AgentOutput, denied, text, tokens, type_of};
use crate::usage::ModelUsage;

pub(super) fn parse(
    records: impl Iterator<Item = Value>,
    model: &str,
    resumed: bool,
) -> AgentOutput {
    let mut told = AgentOutput::default();
    let mut completed = false;
    let mut failed = None;
    let mut last_error = None;
    let mut declined = Vec::new();
    for record in records {
        match type_of(&record) {
            "thread.started" => {
                told.session_id = text(&record, "/thread_id").map(str::to_owned);
            }
            "item.completed" => match text(&record, "/item/type") {
                Some("agent_message") => {
                    told.summary = text(&record, "/item/text").map(str::to_owned);
                }
                item if text(&record, "/item/status") == Some("declined") => {
                    declined.push(item.unwrap_or("unnamed").to_owned());
                }
                _ => {}
            },
            "turn.completed" => {
                completed = true;
                told.usage = vec![usage(&record, model)];
            }
            "turn.failed" => {
                let why = text(&record, "/error/message").unwrap_or("it does not say why");
                failed = Some(format!("Codex failed: {why}"));
            }
            // Also written while it tries again, so that by itself it is no failure.
            "error" => last_error = text(&record, "/message").map(str::to_owned),
            _ => {}
        }
    }
    if resumed {
        told.usage.clear();
    }
    told.failure = failed
        .or_else(|| (!completed).then(|| not_completed(last_error)))
        .or_else(|| denied(declined.iter().map(String::as_str)));
    told
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
