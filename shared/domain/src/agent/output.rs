//! The report of a driver's program about an attempt, from its own output. A hostile process wrote
//! it: lengths and numbers are bounded here, and impossible values are dropped.
//!
//! Token counts have one form: input includes reads from and writes to a cache. Claude Code and
//! opencode exclude these from their input, Codex does not.

mod claude_code;
mod codex;
mod opencode;
mod said;

use serde_json::Value;

pub use said::said;

use super::{AgentType, MAX_RESULT_TEXT};
use crate::usage::{MAX_TOKENS, ModelUsage, reported_by_model};

/// Most lines of output that are looked at.
const MAX_LINES: usize = 100_000;
/// Longest line that is looked at, in bytes.
const MAX_LINE_BYTES: usize = 1_048_576;
/// Longest session id that is taken over, in bytes; it becomes an argument of the next iteration.
const MAX_SESSION_ID: usize = 128;
/// Most denied tools that a reason names.
const MAX_NAMED_TOOLS: usize = 5;

/// What a driver's output comes to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentOutput {
    /// The agent's last words; at most [`MAX_RESULT_TEXT`] bytes.
    pub summary: Option<String>,
    /// What the next iteration resumes; letters, digits, `-` and `_` alone, never first a `-`.
    pub session_id: Option<String>,
    /// What it says that it used. Counts only where the runner has seen nothing itself.
    pub usage: Vec<ModelUsage>,
    /// Why the attempt failed, whatever the exit code was; absent if it did not.
    pub failure: Option<String>,
    /// True if it failed because its budget is used up.
    pub over_budget: bool,
}

/// Reads what a driver wrote to standard output: the beginning, and the end, of which either may
/// be cut in the middle of a line. `model` is the one that it was started with, for programs that
/// do not say; `resumed` says whether it went on with a session. Nothing for agents that are no
/// drivers.
#[must_use]
pub fn parse(
    kind: AgentType,
    head: &[u8],
    tail: &[u8],
    model: &str,
    resumed: bool,
) -> Option<AgentOutput> {
    let records = || records(head).chain(records(tail));
    let mut told = match kind {
        AgentType::ClaudeCode => claude_code::parse(records(), model),
        AgentType::Codex => codex::parse(records(), model, resumed),
        AgentType::Opencode => opencode::parse(records(), model),
        AgentType::Command | AgentType::Patch => return None,
    };
    told.usage = reported_by_model(told.usage);
    told.session_id = told.session_id.filter(|id| is_session_id(id));
    told.summary = told.summary.map(|text| cut(&text));
    told.failure = told.failure.map(|text| cut(&text));
    Some(told)
}

/// The lines that are JSON objects; a program may write other things between them.
fn records(output: &[u8]) -> impl Iterator<Item = Value> {
    output
        .split(|byte| *byte == b'\n')
        .take(MAX_LINES)
        .filter(|line| line.len() <= MAX_LINE_BYTES)
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(Value::is_object)
}

fn is_session_id(id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=MAX_SESSION_ID).contains(&id.len()) && !id.starts_with('-') && id.bytes().all(plain)
}

/// At most [`MAX_RESULT_TEXT`] bytes of a text.
fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_RESULT_TEXT)].to_owned()
}

/// The type of a record.
fn type_of(record: &Value) -> &str {
    text(record, "/type").unwrap_or_default()
}

fn text<'a>(record: &'a Value, pointer: &str) -> Option<&'a str> {
    record
        .pointer(pointer)?
        .as_str()
        .filter(|text| !text.is_empty())
}

/// A count of tokens; what is no count is none.
pub(super) fn tokens(record: &Value, pointer: &str) -> u64 {
    let count = record.pointer(pointer).and_then(Value::as_u64);
    count.unwrap_or(0).min(MAX_TOKENS)
}

/// "the agent was denied …": an attempt without a tool that it wanted is none.
fn denied<'a>(tools: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut names: Vec<&str> = tools.collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    names.truncate(MAX_NAMED_TOOLS);
    let names = names.join(", ");
    (count > 0).then(|| format!("the agent was denied a tool {count} times: {names}"))
}

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;
