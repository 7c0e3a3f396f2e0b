//! Agents: from a request to an attempt that is over.
//!
//! An agent is a command in the workspace. Nothing that it says is believed beyond its exit code
//! and its result file, and nothing of it is alive when its attempt is judged.

mod program;

use std::ffi::OsString;
use std::time::Duration;

use awo_domain::agent::{AgentRequest, AgentResult, AgentStatus, MAX_RESULT_BYTES};
use awo_domain::control::MAX_LOG_BYTES;
use awo_domain::usage::ModelUsage;

use crate::confined::{self, Unreadable};
use crate::layout::{self, Layout};
use crate::output::{Tail, last_bytes};
use crate::prompt;
use crate::stop::Stopped;
use crate::supervised::{AtTimeout, End, Finished, Interrupted, Job, Supervised};

pub(crate) use program::{check_type, program};

/// What of it the next iteration is told when the agent failed; the run's error has room for it.
const TOLD_OUTPUT_BYTES: usize = 1_536;

/// An attempt that is over.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// Why it failed, if it did.
    pub(crate) failure: Option<Failure>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) summary: Option<String>,
    pub(crate) session_id: Option<String>,
    pub(crate) usage: Vec<ModelUsage>,
    pub(crate) took: Duration,
    /// What the agent wrote, if it ever began.
    pub(crate) output: Option<Tail>,
    /// Whether it was ended by a stop; then it has neither failed nor completed.
    pub(crate) stopped: Option<Stopped>,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    /// True if its time was up.
    pub(crate) timed_out: bool,
}

/// Runs agents.
pub(crate) struct Agents<'a> {
    pub(crate) supervised: &'a Supervised,
    pub(crate) layout: &'a Layout,
}

impl Agents<'_> {
    /// Lets the agent try once.
    pub(crate) async fn attempt(
        &self,
        request: &AgentRequest,
        argv: &[OsString],
        limit: Duration,
    ) -> Attempt {
        if let Err(why) = self.hand_over(request) {
            return not_made(format!("its request could not be written: {why}"));
        }
        let layout = self.layout;
        let env = [
            ("AWO_REQUEST", layout.request().into()),
            ("AWO_PROMPT", layout.prompt().into()),
            ("AWO_RESULT", layout.result().into()),
            ("AWO_RUN_ID", request.run_id.as_str().into()),
            ("AWO_ITERATION", request.iteration.to_string().into()),
        ];
        let job = Job {
            argv,
            dir: &layout.workspace(),
            home: &layout.home(),
            tmp: &layout.tmp(),
            env: &env,
            limit,
            at_timeout: AtTimeout::Ask,
            keep_bytes: MAX_LOG_BYTES,
        };
        let attempt = match self.supervised.run(job).await {
            Ok(finished) => judge(finished, self.result(), limit),
            Err(interrupted) => cut_short(interrupted, self.result()),
        };
        let log = layout.log(request.iteration);
        let output = attempt.output.as_ref().map_or(&[][..], Tail::bytes);
        if let Err(why) = layout::write_anew(&log, output) {
            tracing::warn!(%why, "the agent's output could not be kept");
        }
        attempt
    }

    fn hand_over(&self, request: &AgentRequest) -> std::io::Result<()> {
        let json = serde_json::to_vec_pretty(request)?;
        layout::write_anew(&self.layout.request(), &json)?;
        let text = prompt::text(request);
        layout::write_anew(&self.layout.prompt(), text.as_bytes())?;
        layout::clear(&self.layout.result())
    }

    /// What the agent says of itself; nothing if it wrote no file.
    fn result(&self) -> Result<Option<AgentResult>, String> {
        match confined::read(&self.layout.result(), MAX_RESULT_BYTES) {
            Ok(bytes) => AgentResult::parse(&bytes).map(Some),
            Err(Unreadable::Missing) => Ok(None),
            Err(why) => Err(format!("the result file {why}")),
        }
    }
}

fn judge(
    finished: Finished,
    result: Result<Option<AgentResult>, String>,
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
        End::NotStarted(why) => Some(format!("the agent could not be started: {why}")),
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
    let reason = ended.or(invalid).or(gave_up);
    let said = said.unwrap_or_else(nothing_said);
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
        usage: said.usage,
        took: finished.took,
        output: Some(finished.output),
        stopped: None,
    }
}

/// What an interrupted agent managed to say counts as far as it was paid for.
fn cut_short(interrupted: Interrupted, result: Result<Option<AgentResult>, String>) -> Attempt {
    let said = result.ok().flatten().unwrap_or_else(nothing_said);
    Attempt {
        failure: None,
        exit_code: None,
        summary: said.summary,
        session_id: said.session_id,
        usage: said.usage,
        took: interrupted.took,
        output: interrupted.output,
        stopped: Some(interrupted.stopped),
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

/// An attempt that could not begin.
pub(crate) fn not_made(reason: String) -> Attempt {
    Attempt {
        failure: Some(Failure {
            reason,
            timed_out: false,
        }),
        exit_code: None,
        summary: None,
        session_id: None,
        usage: Vec::new(),
        took: Duration::ZERO,
        output: None,
        stopped: None,
    }
}
