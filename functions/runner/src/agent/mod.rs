//! Agents: from a request to a finished attempt.
//!
//! An agent is a command in the workspace. Only its exit code and its result file are trusted, or,
//! for a driver, its records. No process of it is alive when its attempt is evaluated. Its usage is
//! the model proxy's count, if there was any traffic; its own report counts only otherwise, so
//! nothing counts twice.

mod budget;
mod drivers;
mod judgement;
mod program;

use std::ffi::OsString;
use std::time::Duration;

use awo_domain::agent::{Agent, AgentRequest, AgentResult, MAX_RESULT_BYTES};
use awo_domain::control::MAX_LOG_BYTES;
use awo_domain::environment::SecretPhase;
use awo_domain::profile::ExecutionLimits;
use awo_domain::usage::{ModelUsage, PricedUsage};
use serde_json::Value;
use tokio::sync::watch;

use crate::contained_process::{AtTimeout, ContainedProcesses, Job};
use crate::environment::Environment;
use crate::layout::{self, Layout};
use crate::limits;
use crate::live_output::{LiveOutput, OutputBuffer};
use crate::meter::{SharedMeter, now};
use crate::output::Tail;
use crate::prompt;
use crate::proxy::Proxy;
use crate::safe_files::{self, Unreadable};
use crate::stop::StopOutcome;
use crate::toolchains;

pub(crate) use drivers::{is_driver, session_folder, viewer_text};
pub(crate) use program::{Program, check_type, program};

/// How long providers have to report the usage of the last calls of an agent that is over.
const SETTLE_LIMIT: Duration = Duration::from_secs(10);
/// How long if it was stopped: its last report must not wait.
const STOPPED_SETTLE_LIMIT: Duration = Duration::from_secs(2);

/// An attempt that is over.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// Why it failed, if it did.
    pub(crate) failure: Option<Failure>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) summary: Option<String>,
    pub(crate) session_id: Option<String>,
    /// Its reported usage.
    pub(crate) reported: Vec<ModelUsage>,
    /// What it used, with its price.
    pub(crate) usage: Vec<PricedUsage>,
    pub(crate) took: Duration,
    /// The children that it asks for; none of an attempt that failed.
    pub(crate) children: Vec<Value>,
    /// What the agent wrote, if it ever began.
    pub(crate) output: Option<Tail>,
    /// Whether it was ended by a stop; then it has neither failed nor completed.
    pub(crate) stopped: Option<StopOutcome>,
    /// Why its budget did not cover what it wanted, if it did not.
    pub(crate) over_budget: Option<String>,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    /// True if its time was up.
    pub(crate) timed_out: bool,
}

/// How the reason of an agent begins whose program is not there.
const NOT_STARTED: &str = "the agent could not be started";

impl Failure {
    /// True if the agent's program cannot be started: no iteration will change that.
    pub(crate) fn is_not_started(&self) -> bool {
        self.reason.starts_with(NOT_STARTED)
    }
}

/// Runs agents.
pub(crate) struct Agents<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) processes: &'a ContainedProcesses,
    pub(crate) layout: &'a Layout,
    /// The proxy to the models, where the organization has keys for any.
    pub(crate) proxy: Option<&'a Proxy>,
    /// Reports their output while they work.
    pub(crate) live: &'a LiveOutput,
    pub(crate) meter: &'a SharedMeter,
    /// The profile's.
    pub(crate) limits: &'a ExecutionLimits,
    pub(crate) environment: &'a Environment,
    /// Text about earlier turns of the thread, for an agent that does not remember them.
    pub(crate) earlier_turns: &'a str,
    /// True if the session that it resumes is of the turn before.
    pub(crate) resumes_turn: bool,
}

/// The remainder of the run's limits.
pub(crate) struct Remainder<'a> {
    pub(crate) time: Duration,
    /// What the run has used so far.
    pub(crate) used: &'a [PricedUsage],
}

impl Agents<'_> {
    /// Lets the agent try once.
    pub(crate) async fn attempt(
        &self,
        request: &AgentRequest,
        program: &Program,
        left: &Remainder<'_>,
    ) -> Attempt {
        if let Err(why) = self.hand_over(request) {
            return not_made(format!("its request could not be written: {why}"));
        }
        let max_tokens = self.limits.max_total_tokens;
        self.meter.lock().begin(left.used, max_tokens);
        if let Some(proxy) = self.proxy {
            proxy.open(request.iteration);
        }
        let mut attempt = match self.command_line(request, program) {
            Some((argv, env)) => self.run(&argv, &env, left.time, request).await,
            None => not_made("the model proxy is closed".to_owned()),
        };
        if let Some(proxy) = self.proxy {
            let limit = match attempt.stopped {
                Some(_) => STOPPED_SETTLE_LIMIT,
                None => SETTLE_LIMIT,
            };
            proxy.shut(limit).await;
        }
        self.count(&mut attempt);
        let log = self.layout.log(request.iteration);
        let output = attempt.output.as_ref().map_or(&[][..], Tail::bytes);
        if let Err(why) = layout::write_anew(&log, output) {
            tracing::warn!(event = "output_not_stored", %why, "the agent's output could not be stored");
        }
        attempt
    }

    async fn run(
        &self,
        argv: &[OsString],
        env: &[(&str, OsString)],
        limit: Duration,
        request: &AgentRequest,
    ) -> Attempt {
        let layout = self.layout;
        let key = self.proxy.map(|proxy| proxy.proxy_address().key.clone());
        let heard = OutputBuffer::new(self.agent.kind, viewer_text, key);
        let [dir, home, tmp, result] = layout.agents_dirs();
        let result_file = layout.result();
        // What the product sets comes last, and counts.
        let of_environment = self.environment.variables(SecretPhase::Agent);
        let of_environment = of_environment.iter();
        let of_environment = of_environment.map(|(name, value)| (name.as_str(), value.clone()));
        let env: Vec<(&str, OsString)> = toolchains::variables(&home, self.processes.path())
            .into_iter()
            .chain(of_environment)
            .chain(env.iter().cloned())
            .collect();
        let (call_off, called_off) = watch::channel(None);
        let job = Job {
            argv,
            dir: &dir,
            home: &home,
            tmp: &tmp,
            reads: &[&layout.request(), &layout.prompt()],
            env: &env,
            limit,
            at_timeout: AtTimeout::Ask,
            limits: limits::limits(self.limits, &[&dir, &home, &tmp, &result]),
            called_off: Some(called_off),
            keep_bytes: MAX_LOG_BYTES,
            heard: Some(&heard),
        };
        let ran = self
            .live
            .of(request.iteration, &heard, self.processes.run(job));
        let ended = tokio::select! {
            ended = ran => ended,
            never = budget::keep_to(self.meter, &result_file, &call_off) => match never {},
        };
        match ended {
            Ok(finished) => {
                let resumed = request.session_id.is_some();
                let driver_output = judgement::driver_output(self.agent, &finished, resumed);
                judgement::judge(finished, self.result(), driver_output, limit)
            }
            Err(interrupted) => judgement::cut_short(interrupted, self.result()),
        }
    }

    /// The command line and what its environment has beyond that of any process; nothing for a
    /// driver without a proxy.
    fn command_line(
        &self,
        request: &AgentRequest,
        program: &Program,
    ) -> Option<(Vec<OsString>, drivers::Environment)> {
        let layout = self.layout;
        let mut env: drivers::Environment = vec![
            ("AWO_REQUEST", layout.request().into()),
            ("AWO_PROMPT", layout.prompt().into()),
            ("AWO_PROMPT_FILE", layout.prompt().into()),
            ("AWO_DEPTH", request.depth.to_string().into()),
            ("AWO_RESULT", layout.result().into()),
            ("AWO_RUN_ID", request.run_id.as_str().into()),
            ("AWO_ITERATION", request.iteration.to_string().into()),
        ];
        let parent = request.parent_id.as_ref();
        env.extend(parent.map(|parent| ("AWO_PARENT_ID", parent.as_str().into())));
        let proxy_address = self.proxy.map(Proxy::proxy_address);
        env.extend(proxy_address.into_iter().flat_map(drivers::models));
        let argv = match program {
            Program::Command(argv) => argv.clone(),
            Program::Driver => {
                let model = self.agent.model.as_deref();
                let usd_left = |proxy: &Proxy| proxy.usd_left(model?);
                let start = drivers::Start {
                    agent: self.agent,
                    path: self.processes.path(),
                    proxy_address: proxy_address?,
                    session_id: request.session_id.as_deref(),
                    is_moved: self.resumes_turn,
                    usd_left: self.proxy.and_then(usd_left),
                };
                let (argv, of_driver) = drivers::command(&start)?;
                env.extend(of_driver);
                argv
            }
        };
        Some((argv, env))
    }

    /// What the model proxy counted stands instead of what the agent reports.
    fn count(&self, attempt: &mut Attempt) {
        let mut meter = self.meter.lock();
        let (passed, refused) = meter.end();
        attempt.usage = if passed.is_empty() {
            meter.price(std::mem::take(&mut attempt.reported), now())
        } else {
            passed
        };
        attempt.over_budget = refused.or(attempt.over_budget.take());
    }

    fn hand_over(&self, request: &AgentRequest) -> std::io::Result<()> {
        let json = serde_json::to_vec_pretty(request)?;
        layout::write_anew(&self.layout.request(), &json)?;
        let text = prompt::text(request, self.earlier_turns);
        layout::write_anew(&self.layout.prompt(), text.as_bytes())?;
        layout::clear(&self.layout.result())
    }

    /// The agent's result; nothing if it wrote no file.
    fn result(&self) -> Result<Option<AgentResult>, String> {
        match safe_files::read(&self.layout.result(), MAX_RESULT_BYTES) {
            Ok(bytes) => AgentResult::parse(&self.environment.masks.bytes(&bytes)).map(Some),
            Err(Unreadable::Missing) => Ok(None),
            Err(why) => Err(format!("the result file {why}")),
        }
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
        reported: Vec::new(),
        usage: Vec::new(),
        children: Vec::new(),
        took: Duration::ZERO,
        output: None,
        stopped: None,
        over_budget: None,
    }
}
