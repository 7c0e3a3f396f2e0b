//! The result of an attempt, from the process's end, its result file and, for a driver, its
//! records.

use std::time::Duration;

use awo_domain::agent::{Agent, AgentResult, AgentStatus};

use super::drivers::{AgentOutput, parse};
use super::{Attempt, Failure, NOT_STARTED};
use crate::contained_process::{End, Finished, Interrupted};
use crate::output::last_bytes;

/// What of it the next iteration is told when the agent failed; the run's error has room for it.
const TOLD_OUTPUT_BYTES: usize = 1_536;
/// How a model is called that nobody has named.
const UNKNOWN_MODEL: &str = "unknown";

/// What a driver's records say; nothing for agents that are none.
pub(super) fn told(agent: &Agent, finished: &Finished, resumed: bool) -> Option<AgentOutput> {
    let tail = finished.stdout.bytes();
    // What the tail has, too, would count twice.
    let before_tail = finished.stdout.total() - tail.len() as u64;
    let before_tail = usize::try_from(before_tail).unwrap_or(usize::MAX);
    let head = &finished.stdout_head[..finished.stdout_head.len().min(before_tail)];
    let model = agent.model.as_deref().unwrap_or(UNKNOWN_MODEL);
    parse(agent.kind, head, tail, model, resumed)
}

pub(super) fn judge(
    finished: Finished,
    result: Result<Option<AgentResult>, String>,
    told: Option<AgentOutput>,
    limit: Duration,
) -> Attempt {
    let ended = match &finished.end {
        End::Exited(0) => None,
        End::Exited(code) => Some(format!("the agent ended with exit code {code}")),
        End::Signaled(signal) => Some(format!("the agent was killed by signal {signal}")),
        End::TimedOut => Some(format!(
            "the agent was stopped after {} ms, its limit",
            limit.as_millis()
        )),
        End::CalledOff(why) => Some(format!("the agent was stopped: {why}")),
        End::OverLimit(why) => Some(format!("the agent was ended: {why}")),
        End::NotStarted(why) => Some(format!("{NOT_STARTED}: {why}")),
        End::SupervisorLost => Some("the agent killed its supervisor".to_owned()),
    };
    let ended = ended.map(|what| match finished.output.text().trim() {
        "" => format!("{what}, without any output"),
        text => format!(
            "{what}; its output ends with:\n{}",
            last_bytes(text, TOLD_OUTPUT_BYTES)
        ),
    });
    let (said, invalid) = match result {
        Ok(said) => (said, None),
        Err(why) => (None, Some(why)),
    };
    let gave_up = said
        .as_ref()
        .filter(|said| said.status == Some(AgentStatus::Failed))
        .map(|said| match &said.summary {
            Some(summary) => format!("the agent gave up: {summary}"),
            None => "the agent gave up".to_owned(),
        });
    let by_itself = matches!(finished.end, End::Exited(_));
    let why_failed = told.as_ref().filter(|_| by_itself);
    let why_failed = why_failed.and_then(|told| told.failure.clone());
    let reason = why_failed.or(ended).or(invalid).or(gave_up);
    let over_budget = told.as_ref().filter(|told| told.over_budget);
    let over_budget = over_budget.and_then(|told| told.failure.clone());
    let over_budget = match &finished.end {
        End::CalledOff(why) => Some(why.clone()),
        _ => over_budget,
    };
    let said = said.unwrap_or_else(nothing_said);
    let said = match told {
        Some(told) => heard(said, &told),
        None => said,
    };
    let children = match reason {
        None => said.children,
        Some(_) => Vec::new(),
    };
    Attempt {
        failure: reason.map(|reason| Failure {
            reason,
            timed_out: finished.end == End::TimedOut,
        }),
        exit_code: match finished.end {
            End::Exited(code) => Some(code),
            _ => None,
        },
        summary: said.summary,
        session_id: said.session_id,
        reported: said.usage,
        usage: Vec::new(),
        children,
        took: finished.took,
        output: Some(finished.output),
        stopped: None,
        over_budget,
    }
}

/// What a driver's records say beside its result file. The session is the program's own word: it
/// becomes an argument, and the file is the model's.
fn heard(said: AgentResult, told: &AgentOutput) -> AgentResult {
    AgentResult {
        summary: said.summary.or_else(|| told.summary.clone()),
        session_id: told.session_id.clone(),
        usage: told.usage.clone(),
        ..said
    }
}

/// What an interrupted agent managed to say counts as far as it was paid for.
pub(super) fn cut_short(
    interrupted: Interrupted,
    result: Result<Option<AgentResult>, String>,
) -> Attempt {
    let said = result.ok().flatten().unwrap_or_else(nothing_said);
    Attempt {
        failure: None,
        exit_code: None,
        summary: said.summary,
        session_id: said.session_id,
        reported: said.usage,
        usage: Vec::new(),
        children: Vec::new(),
        took: interrupted.took,
        output: interrupted.output,
        stopped: Some(interrupted.stopped),
        over_budget: None,
    }
}

fn nothing_said() -> AgentResult {
    AgentResult {
        status: None,
        summary: None,
        session_id: None,
        usage: Vec::new(),
        children: Vec::new(),
    }
}
