//! A driver's records as text for viewers: its messages, its tool calls and their errors. A record
//! without content is omitted; a line that is no record is shown as it is.

use serde_json::Value;

use super::{MAX_LINE_BYTES, text, type_of};
use crate::agent::AgentType;

/// Most of a tool's call that is told, in bytes.
const MAX_CALL_BYTES: usize = 500;
/// What says most about a call, in this order.
const TELLING: [&str; 8] = [
    "command",
    "file_path",
    "filePath",
    "path",
    "pattern",
    "url",
    "query",
    "description",
];

/// What one line of an agent's output says; it has no line end. Every line of an agent that is no
/// driver says what it says.
#[must_use]
pub fn said(kind: AgentType, line: &[u8]) -> Option<String> {
    let record = match kind {
        AgentType::Command | AgentType::Patch => None,
        AgentType::ClaudeCode | AgentType::Codex | AgentType::Opencode => {
            let is_short = line.len() <= MAX_LINE_BYTES;
            is_short.then(|| serde_json::from_slice::<Value>(line).ok())
        }
        .flatten(),
    };
    let Some(record) = record.filter(Value::is_object) else {
        return Some(String::from_utf8_lossy(line).into_owned());
    };
    let parts: Vec<String> = match kind {
        AgentType::ClaudeCode => claude_code(&record),
        AgentType::Codex => codex(&record).into_iter().collect(),
        AgentType::Opencode => opencode(&record).into_iter().collect(),
        AgentType::Command | AgentType::Patch => return None,
    };
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn claude_code(record: &Value) -> Vec<String> {
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

fn codex(record: &Value) -> Option<String> {
    let item = record.get("item").filter(|item| item.is_object());
    match (type_of(record), item) {
        ("item.started", Some(item)) => Some(call(text(item, "/type"), Some(item))),
        ("item.completed", Some(item)) => match type_of(item) {
            "agent_message" => text(item, "/text").map(str::to_owned),
            "error" => text(item, "/message").map(failed),
            _ => None,
        },
        ("turn.failed", _) => text(record, "/error/message").map(failed),
        _ => None,
    }
}

fn opencode(record: &Value) -> Option<String> {
    match type_of(record) {
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
    }
}

/// `[Bash] make test`.
fn call(tool: Option<&str>, input: Option<&Value>) -> String {
    let tool = tool.unwrap_or("tool");
    let telling = |input: &Value| {
        let mut names = TELLING.iter();
        let found = names.find_map(|name| input.get(*name).and_then(Value::as_str));
        found.map(str::to_owned)
    };
    let input = input.map(|input| telling(input).unwrap_or_else(|| input.to_string()));
    let input = input.unwrap_or_default();
    let cut = input.floor_char_boundary(MAX_CALL_BYTES);
    format!("[{tool}] {}", &input[..cut])
}

fn failed(why: &str) -> String {
    let cut = why.floor_char_boundary(MAX_CALL_BYTES);
    format!("[failed] {}", &why[..cut])
}
