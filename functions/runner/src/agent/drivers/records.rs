//! The report of a driver's program about an attempt, from its own output. A hostile process wrote
//! it: lengths and numbers are bounded here, and impossible values are dropped.
//!
//! Token counts have one form: input includes reads from and writes to a cache. Claude Code and
//! opencode exclude these from their input, Codex does not.

use awo_domain::agent::{AgentType, MAX_RESULT_TEXT};
use awo_domain::usage::{ModelUsage, reported_by_model};
use serde_json::Value;

use super::driver;

/// Most lines of output that are read.
const MAX_LINES: usize = 100_000;
/// Longest line that is read, in bytes.
const MAX_LINE_BYTES: usize = 1_048_576;
/// Longest session id that is taken over, in bytes; it becomes an argument of the next iteration.
const MAX_SESSION_ID: usize = 128;
/// Most denied tools that a reason names.
const MAX_NAMED_TOOLS: usize = 5;
/// Most of a tool's call that is shown, in bytes.
const MAX_CALL_BYTES: usize = 500;
/// The most informative inputs of a call, in this order.
const INFORMATIVE: [&str; 8] = [
    "command",
    "file_path",
    "filePath",
    "path",
    "pattern",
    "url",
    "query",
    "description",
];

/// What a driver's program reports of an attempt.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct AgentOutput {
    /// The agent's last words; at most [`MAX_RESULT_TEXT`] bytes.
    pub(crate) summary: Option<String>,
    /// What the next iteration resumes; letters, digits, `-` and `_` alone, never first a `-`.
    pub(crate) session_id: Option<String>,
    /// Its reported usage. Counts only where the runner has measured nothing itself.
    pub(crate) usage: Vec<ModelUsage>,
    /// Why the attempt failed, whatever the exit code was; absent if it did not.
    pub(crate) failure: Option<String>,
    /// True if it failed because its budget is used up.
    pub(crate) over_budget: bool,
}

/// The context of an attempt, for the reader of its output.
#[derive(Debug, Clone, Copy)]
pub(in crate::agent) struct AttemptContext<'a> {
    /// The model that it was started with, for programs that do not name it.
    pub(super) model: &'a str,
    /// Whether it continued a session.
    pub(super) resumed: bool,
}

/// Reads what a driver wrote to standard output: the beginning, and the end, of which either may
/// be cut in the middle of a line. `model` is the one that it was started with; `resumed` states
/// whether it continued a session. Nothing for agents that are no drivers.
pub(crate) fn parse(
    kind: AgentType,
    head: &[u8],
    tail: &[u8],
    model: &str,
    resumed: bool,
) -> Option<AgentOutput> {
    let driver = driver(kind)?;
    let mut records = records(head).chain(records(tail));
    let mut output = driver.read(&mut records, AttemptContext { model, resumed });
    output.usage = reported_by_model(output.usage);
    output.session_id = output.session_id.filter(|id| is_session_id(id));
    output.summary = output.summary.map(|text| cut(&text));
    output.failure = output.failure.map(|text| cut(&text));
    Some(output)
}

/// One line of an agent's output as text for viewers: of a driver its messages, its tool calls and
/// their errors. It has no line end. A record without content is nothing; a line that is no record,
/// and every line of an agent that is no driver, is shown as it is.
pub(crate) fn viewer_text(kind: AgentType, line: &[u8]) -> Option<String> {
    let driver = driver(kind).filter(|_| line.len() <= MAX_LINE_BYTES);
    let read = |driver| Some((driver, serde_json::from_slice::<Value>(line).ok()?));
    let record = driver.and_then(read);
    let Some((driver, record)) = record.filter(|(_, record)| record.is_object()) else {
        return Some(String::from_utf8_lossy(line).into_owned());
    };
    let parts = driver.text(&record);
    (!parts.is_empty()).then(|| parts.join("\n"))
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
pub(super) fn type_of(record: &Value) -> &str {
    text(record, "/type").unwrap_or_default()
}

pub(super) fn text<'a>(record: &'a Value, pointer: &str) -> Option<&'a str> {
    record
        .pointer(pointer)?
        .as_str()
        .filter(|text| !text.is_empty())
}

/// "the agent was denied …": an attempt without a tool that it wanted is none.
pub(super) fn denied<'a>(tools: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut names: Vec<&str> = tools.collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    names.truncate(MAX_NAMED_TOOLS);
    let names = names.join(", ");
    (count > 0).then(|| format!("the agent was denied a tool {count} times: {names}"))
}

/// `[Bash] make test`.
pub(super) fn call(tool: Option<&str>, input: Option<&Value>) -> String {
    let tool = tool.unwrap_or("tool");
    let informative = |input: &Value| {
        let mut names = INFORMATIVE.iter();
        let found = names.find_map(|name| input.get(*name).and_then(Value::as_str));
        found.map(str::to_owned)
    };
    let input = input.map(|input| informative(input).unwrap_or_else(|| input.to_string()));
    let input = input.unwrap_or_default();
    let cut = input.floor_char_boundary(MAX_CALL_BYTES);
    format!("[{tool}] {}", &input[..cut])
}

pub(super) fn failed(why: &str) -> String {
    let cut = why.floor_char_boundary(MAX_CALL_BYTES);
    format!("[failed] {}", &why[..cut])
}

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;
