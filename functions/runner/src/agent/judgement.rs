//! The result of an attempt, from the process's end, its result file and, for a driver, its
//! records.

use std::time::Duration;

use awo_domain::agent::{Agent, AgentResult, AgentStatus};

use super::drivers::{AgentOutput, parse};
use super::{Attempt, Failure, NOT_STARTED};
use crate::contained_process::{End, FinishedCommand, Interruption};
use crate::output::last_bytes;

/// The part of it in the next iteration's prompt when the agent failed; the run's error has room for it.
const FEEDBACK_OUTPUT_BYTES: usize = 1_536;
/// The name of a model that was not named.
const UNKNOWN_MODEL: &str = "unknown";

/// The content of a driver's records; nothing for agents that are no drivers.
pub(super) fn driver_output(
    agent: &Agent,
    finished: &FinishedCommand,
    resumed: bool,
) -> Option<AgentOutput> {
    let tail = finished.stdout.bytes();
    // What the tail has, too, would count twice.
    let before_tail = finished.stdout.total() - tail.len() as u64;
    let before_tail = usize::try_from(before_tail).unwrap_or(usize::MAX);
    let head = &finished.stdout_head[..finished.stdout_head.len().min(before_tail)];
    let model = agent.model.as_deref().unwrap_or(UNKNOWN_MODEL);
    parse(agent.kind, head, tail, model, resumed)
}

pub(super) fn judge(
    finished: FinishedCommand,
    result: Result<Option<AgentResult>, String>,
    records: Option<AgentOutput>,
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
            last_bytes(text, FEEDBACK_OUTPUT_BYTES)
        ),
    });
    let (reported, invalid) = match result {
        Ok(reported) => (reported, None),
        Err(why) => (None, Some(why)),
    };
    let gave_up = reported
        .as_ref()
        .filter(|reported| reported.status == Some(AgentStatus::Failed))
        .map(|reported| match &reported.summary {
            Some(summary) => format!("the agent gave up: {summary}"),
            None => "the agent gave up".to_owned(),
        });
    let by_itself = matches!(finished.end, End::Exited(_));
    let why_failed = records.as_ref().filter(|_| by_itself);
    let why_failed = why_failed.and_then(|records| records.failure.clone());
    let reason = why_failed.or(ended).or(invalid).or(gave_up);
    let over_budget = records.as_ref().filter(|records| records.over_budget);
    let over_budget = over_budget.and_then(|records| records.failure.clone());
    let over_budget = match &finished.end {
        End::CalledOff(why) => Some(why.clone()),
        _ => over_budget,
    };
    let reported = reported.unwrap_or_else(empty_result);
    let reported = match records {
        Some(records) => merged(reported, &records),
        None => reported,
    };
    let children = match reason {
        None => reported.children,
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
        summary: reported.summary,
        session_id: reported.session_id,
        reported: reported.usage,
        usage: Vec::new(),
        children,
        took: finished.took,
        output: Some(finished.output),
        stopped: None,
        over_budget,
    }
}

/// A driver's records, merged with its result file. The session is the program's own word: it
/// becomes an argument, and the file is the model's.
fn merged(reported: AgentResult, records: &AgentOutput) -> AgentResult {
    AgentResult {
        summary: reported.summary.or_else(|| records.summary.clone()),
        session_id: records.session_id.clone(),
        usage: records.usage.clone(),
        ..reported
    }
}

/// The report of an interrupted agent counts as far as it was paid for.
pub(super) fn cut_short(
    interrupted: Interruption,
    result: Result<Option<AgentResult>, String>,
) -> Attempt {
    let reported = result.ok().flatten().unwrap_or_else(empty_result);
    Attempt {
        failure: None,
        exit_code: None,
        summary: reported.summary,
        session_id: reported.session_id,
        reported: reported.usage,
        usage: Vec::new(),
        children: Vec::new(),
        took: interrupted.took,
        output: interrupted.output,
        stopped: Some(interrupted.stopped),
        over_budget: None,
    }
}

fn empty_result() -> AgentResult {
    AgentResult {
        status: None,
        summary: None,
        session_id: None,
        usage: Vec::new(),
        children: Vec::new(),
    }
}
