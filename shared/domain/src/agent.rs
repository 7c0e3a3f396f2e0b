//! The contract between the runner and an agent program: the request file, the result file; and the
//! answers of the models that agents call.

pub mod answer;
pub mod provider_error;
mod shape;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::control::{EarlierTurn, Provider};
use crate::usage::{ModelUsage, reported_by_model};
use crate::verification::Level;
use crate::work_order::MAX_CHILDREN;
use crate::{RunId, TaskPrompt, WorkOrderId};

/// The agents that a work order may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum AgentType {
    /// A command of the work order's, or the repository's `.awo/agent.sh`.
    Command,
    /// Applies `.awo/patches/<iteration>.patch`.
    Patch,
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// OpenAI's Codex.
    Codex,
    /// opencode.
    Opencode,
    /// No agent: a commit is verified as it is.
    Verify,
}

impl AgentType {
    /// The providers whose protocols an agent of this type may speak.
    #[must_use]
    pub fn providers(self) -> &'static [Provider] {
        match self {
            AgentType::Command => &Provider::KEYED,
            AgentType::Patch => &[],
            AgentType::ClaudeCode => &[Provider::Anthropic],
            AgentType::Codex => &[Provider::Openai],
            AgentType::Opencode => &Provider::KEYED,
            AgentType::Verify => &[],
        }
    }

    /// True if there is no agent: the work order only verifies a commit.
    #[must_use]
    pub fn is_verification(self) -> bool {
        match self {
            AgentType::Verify => true,
            AgentType::Command
            | AgentType::Patch
            | AgentType::ClaudeCode
            | AgentType::Codex
            | AgentType::Opencode => false,
        }
    }
}

/// Which agent does the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Agent {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: AgentType,
    /// The model it should use, for agents that talk to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The argument vector of a `command` agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

/// One fault of the last iteration, as the next one's prompt describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feedback {
    /// The level that found it; absent when the agent itself failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The check's name.
    pub check: String,
    /// The finding.
    pub message: String,
}

/// What is left for the run when the iteration begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestLimits {
    /// Milliseconds until this iteration is stopped.
    pub max_iteration_ms: u64,
    /// Credits that the run may use in all.
    pub max_credits: f64,
}

/// The file that `AWO_REQUEST` names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentRequest {
    /// The run.
    pub run_id: RunId,
    /// Its work order.
    pub work_order_id: WorkOrderId,
    /// From 1.
    pub iteration: u32,
    /// The last iteration there can be.
    pub max_iterations: u32,
    /// The task, as the client wrote it.
    pub task_prompt: TaskPrompt,
    /// What the iteration before got wrong; empty in the first.
    pub feedback: Vec<Feedback>,
    /// The model that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The session that the iteration before reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// How many work orders are above it: 0 for one that a client made without a parent.
    #[serde(default)]
    pub depth: u32,
    /// The work order of which it is a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<WorkOrderId>,
    /// The turns of the thread before this one, where the run continues a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<RequestThread>,
    /// The remainder.
    pub limits: RequestLimits,
}

/// The thread of a run, for its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestThread {
    /// The id of the first turn's work order.
    pub thread_id: WorkOrderId,
    /// The turn of the run.
    pub turn: u32,
    /// Turns before it, oldest first.
    pub turns: Vec<EarlierTurn>,
}

/// How an agent judges its own iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    /// Did what it could.
    Completed,
    /// Gave up.
    Failed,
}

/// The file that `AWO_RESULT` names, as an agent may write it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentResult {
    /// Absent means completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<AgentStatus>,
    /// A sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Handed to the next iteration, so that an agent may resume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What this iteration used; within bounds whatever the file says, each model once.
    #[serde(default)]
    pub usage: Vec<ModelUsage>,
    /// Work orders that this one wants done.
    #[serde(default)]
    pub children: Vec<serde_json::Value>,
}

/// Largest result file that is read, in bytes.
pub const MAX_RESULT_BYTES: u64 = 1_048_576;
/// Longest summary and session id that are stored, in bytes.
pub const MAX_RESULT_TEXT: usize = 4_096;
/// Largest `children` of a result file, in bytes of JSON without white space.
pub const MAX_CHILDREN_BYTES: usize = 524_288;

impl AgentResult {
    /// Reads a result file.
    ///
    /// # Errors
    /// A sentence for the agent: what is wrong and where.
    pub fn parse(bytes: &[u8]) -> Result<AgentResult, String> {
        let mut result: AgentResult = serde_json::from_slice(bytes).map_err(|why| {
            let why = shape::fault(bytes).unwrap_or_else(|| why.to_string());
            format!("the result file is not valid: {why}")
        })?;
        result.usage = reported_by_model(result.usage);
        for (name, text) in [
            ("summary", &result.summary),
            ("sessionId", &result.session_id),
        ] {
            if text.as_ref().is_some_and(|t| t.len() > MAX_RESULT_TEXT) {
                return Err(format!(
                    "the result file's {name} is longer than {MAX_RESULT_TEXT} bytes"
                ));
            }
        }
        check_children(&result.children)?;
        Ok(result)
    }
}

/// Faults that do not depend on the parent and its organization; the service checks the rest.
fn check_children(children: &[serde_json::Value]) -> Result<(), String> {
    let most = usize::try_from(MAX_CHILDREN).unwrap_or(usize::MAX);
    if children.len() > most {
        return Err(format!(
            "the result file requests more than {most} children"
        ));
    }
    let mut bytes = 0;
    for (i, child) in children.iter().enumerate() {
        if !child.get("taskPrompt").is_some_and(|text| text.is_string()) {
            return Err(format!(
                "the result file's children are not valid: /children/{i} must be an object with \
                 a taskPrompt"
            ));
        }
        bytes += child.to_string().len();
    }
    if bytes > MAX_CHILDREN_BYTES {
        return Err(format!(
            "the result file's children are larger than {MAX_CHILDREN_BYTES} bytes"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_children(children: &str) -> Result<AgentResult, String> {
        AgentResult::parse(format!(r#"{{"children":{children}}}"#).as_bytes())
    }

    #[test]
    fn children_are_objects_with_a_task_and_neither_too_many_nor_too_large() {
        let good = with_children(r#"[{"taskPrompt":"a","maxIterations":2},{"taskPrompt":"b"}]"#);
        assert_eq!(good.unwrap().children.len(), 2);
        let most = MAX_CHILDREN as usize;
        let tasks = |count: usize| vec![r#"{"taskPrompt":"a"}"#; count].join(",");
        assert!(with_children(&format!("[{}]", tasks(most))).is_ok());
        let large = "x".repeat(MAX_CHILDREN_BYTES);
        for (bad, word) in [
            (format!("[{}]", tasks(most + 1)), "more than 20 children"),
            (r#"[{"taskPrompt":"a"},{}]"#.to_owned(), "/children/1"),
            (r#"[{"taskPrompt":7}]"#.to_owned(), "/children/0"),
            (r#"["a"]"#.to_owned(), "/children/0"),
            (r#"{"taskPrompt":"a"}"#.to_owned(), "not valid"),
            (format!(r#"[{{"taskPrompt":"{large}"}}]"#), "larger than"),
        ] {
            let why = with_children(&bad).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
    }
}
