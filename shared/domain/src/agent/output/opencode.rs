//! opencode's `run --format json`. Its input tokens exclude cache reads and writes, and its output
//! excludes reasoning.

use serde_json::Value;

use super::{AgentOutput, denied, text, tokens, type_of};
use crate::usage::ModelUsage;

/// What the error of a tool says that was not allowed. Any other error of a tool is for the model
/// to deal with.
const DENIALS: [&str; 2] = ["rejected permission", "rule which prevents you"];

pub(super) fn parse(records: impl Iterator<Item = Value>, model: &str) -> AgentOutput {
    let mut told = AgentOutput::default();
    let mut refused = Vec::new();
    let mut failed = None;
    for record in records {
        told.session_id = text(&record, "/sessionID")
            .map(str::to_owned)
            .or(told.session_id);
        match type_of(&record) {
            "text" => told.summary = text(&record, "/part/text").map(str::to_owned),
            "step_finish" => told.usage.push(usage(&record, model)),
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
                failed = Some(format!("opencode failed: {why}"));
            }
            _ => {}
        }
    }
    let no_step = told.usage.is_empty();
    told.failure = failed
        .or_else(|| no_step.then(|| "opencode ended without finishing a step".to_owned()))
        .or_else(|| denied(refused.iter().map(String::as_str)));
    told
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
