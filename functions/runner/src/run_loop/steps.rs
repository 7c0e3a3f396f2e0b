//! The steps of an iteration before its verification: the agent's attempt and the commit of its
//! changes.

use std::time::{Duration, SystemTime};

use awo_domain::agent::{AgentRequest, AgentType, Feedback, RequestLimits};
use awo_domain::control::{MAX_DIFF_BYTES, RunnerEvent, SnapshotDiff};
use awo_domain::profile::{IterationOutcome, MAX_WINDOW, StrategyType};
use awo_domain::run::{RunError, RunErrorCode};

use super::{Abort, Tally, Verdict, Work, fail, millis};
use crate::agent::{Agents, Attempt, Failure, Program, Remainder, viewer_text};
use crate::git::GitError;
use crate::iteration_log::iteration_log;
use crate::output::{Tail, last_bytes};
use crate::prompt;
use crate::repository::Commit;
use crate::snapshot::packed;
use crate::stop::StopOutcome;

/// Longest reason of an agent's failure in the next iteration's prompt.
pub(super) const MAX_REASON_BYTES: usize = 4_096;

/// How long an iteration waits for its effective configuration. A runner without an answer for so long has
/// most likely lost its lease; until it learns that, it uses the configuration that it has.
const BEGIN_LIMIT: Duration = Duration::from_secs(30);

impl Tally {
    /// Stores the agent's output, as far as any strategy may compare it; of a driver its words, not
    /// the records that they stand in.
    pub(super) fn keep_output(&mut self, kind: AgentType, output: Option<&Tail>) {
        if self.outputs.len() == MAX_WINDOW {
            self.outputs.remove(0);
        }
        let output = output.map(Tail::utf8).unwrap_or_default();
        let lines = output.lines();
        let texts = lines.filter_map(|line| viewer_text(kind, line.as_bytes()));
        self.outputs.push(texts.collect::<Vec<_>>().join("\n"));
    }
}

impl Work<'_> {
    /// Reports the start of an iteration, and takes over its effective configuration.
    pub(super) async fn begin(&mut self, iteration: u32) -> Result<(), Abort> {
        let configuration = tokio::select! {
            biased;
            () = self.processes.stopped() => return Err(Abort::Stopped(StopOutcome::default())),
            configuration = self.reporter.begin(iteration, BEGIN_LIMIT) => configuration,
        };
        if let Some(configuration) = configuration {
            self.spec.profile = configuration.profile;
            self.spec.max_duration_ms = configuration.max_duration_ms;
        }
        Ok(())
    }

    /// The outcome of an iteration, as its strategy evaluates it.
    pub(super) fn iterated(&self, tally: &mut Tally, verdict: &Verdict) -> IterationOutcome {
        let strategy = &self.spec.profile.loop_strategy;
        let failing = match verdict {
            Verdict::Passed => 0,
            Verdict::NotPassed(failing, _) => *failing,
        };
        let best = tally.best;
        tally.best = Some(best.map_or(failing, |best| best.min(failing)));
        let output = tally.outputs.last();
        IterationOutcome {
            done: tally.iterations,
            passed: matches!(verdict, Verdict::Passed),
            failing,
            best,
            signaled: output.is_some_and(|output| strategy.is_signaled(output)),
            converged: strategy.has_converged(&tally.outputs),
        }
    }

    /// What ends a run whose strategy wants no more iterations.
    pub(super) fn given_up(&self, last: &IterationOutcome, error: RunError) -> Abort {
        let most = self.spec.profile.max_iterations(self.spec.asked_iterations);
        let strategy = &self.spec.profile.loop_strategy;
        let nothing_new = strategy.kind == StrategyType::Ralph && last.converged;
        if last.done >= most || !nothing_new {
            return Abort::Failed(error);
        }
        let message = format!(
            "after {} of {most} iterations the agent's last {} outputs are the same, so no \
             further iteration was started: {}",
            last.done, strategy.window_size, error.message
        );
        fail(error.code, &message)
    }

    /// Ends a run that has used up its credits or the tokens that its profile grants.
    pub(super) fn check_budget(&self) -> Result<(), Abort> {
        let used_up = self.meter.lock().used_up();
        used_up.map_or(Ok(()), |why| Err(out_of_budget(&why)))
    }

    /// Lets the agent try once. What it leaves in the workspace holds no secret.
    pub(super) async fn attempt(&self, tally: &Tally, program: &Program) -> Result<Attempt, Abort> {
        let since = SystemTime::now();
        let limits = &self.spec.profile.execution_limits;
        let limit = Duration::from_millis(limits.max_iteration_ms).min(self.left());
        let request = AgentRequest {
            run_id: self.spec.run_id.clone(),
            work_order_id: self.spec.work_order_id.clone(),
            iteration: tally.iterations,
            max_iterations: self.spec.profile.max_iterations(self.spec.asked_iterations),
            task_prompt: self.spec.task_prompt.clone(),
            feedback: tally.feedback.clone(),
            model: self.spec.agent.model.clone(),
            session_id: tally.session_id.clone(),
            depth: self.spec.depth,
            parent_id: self.spec.parent_id.clone(),
            thread: self.request_thread(),
            limits: RequestLimits {
                max_iteration_ms: millis(limit),
                max_credits: self.spec.max_credits,
            },
        };
        let agents = Agents {
            agent: &self.spec.agent,
            processes: self.processes,
            layout: self.layout,
            proxy: self.proxy,
            live: &self.live,
            meter: self.meter,
            limits,
            environment: self.environment,
            earlier_turns: &self.earlier_turns(tally),
            resumes_turn: tally.resumes_session,
        };
        let left = Remainder {
            time: limit,
            used: &tally.usage,
        };
        self.localize_names()?;
        let attempt = agents.attempt(&request, program, &left).await;
        self.restore_names()?;
        self.scrub_workspace(since).await?;
        Ok(attempt)
    }

    /// Reports what the agent wrote, before anything is made of it.
    pub(super) async fn report_output(&self, iteration: u32, output: &Tail) {
        match iteration_log(iteration, output) {
            Ok(log) => self.reporter.log(log).await,
            Err(why) => {
                tracing::warn!(event = "output_not_compressed", %why, "the agent's output could not be compressed")
            }
        }
    }

    pub(super) async fn report_attempt(&self, iteration: u32, attempt: Attempt) {
        let reason = attempt.failure.map(|failure| failure.reason);
        let finished = RunnerEvent::AgentFinished {
            iteration,
            completed: reason.is_none(),
            exit_code: attempt.exit_code,
            reason,
            summary: attempt.summary,
            duration_ms: millis(attempt.took),
            usage: attempt.usage,
        };
        self.reporter.event(finished).await;
    }

    /// Reports what is now the run's newest commit.
    pub(super) async fn report_commit(&self, tally: &mut Tally, commit: &Commit) {
        tally.commit = Some(commit.hash.clone());
        let committed = RunnerEvent::Committed {
            iteration: tally.iterations,
            commit: commit.hash.clone(),
            files_changed: commit.files_changed,
        };
        self.reporter.event(committed).await;
    }

    /// Commits what the agent changed, also where it failed; a sentence for the agent where that
    /// cannot be done.
    pub(super) async fn commit(&self, tally: &mut Tally) -> Result<Result<(), String>, Abort> {
        let prefix = &self.spec.profile.git_ops.commit_message_prefix;
        let message = prompt::commit_message(prefix, &self.spec.task_prompt, tally.iterations);
        tally.gate_restored.clear();
        match self.repository.commit(&message).await {
            Ok(outcome) => {
                tally.left_out = outcome.left_out;
                tally.unpublished = outcome.unpublished;
                let Some(commit) = outcome.commit else {
                    return Ok(Ok(()));
                };
                let Some(commit) = self.restored(tally, commit).await? else {
                    return Ok(Ok(()));
                };
                self.report_commit(tally, &commit).await;
                self.report_diff(tally.iterations, commit.hash).await;
                Ok(Ok(()))
            }
            Err(GitError::Stopped) => Err(Abort::Stopped(StopOutcome::default())),
            Err(why) => Ok(Err(format!("the changes could not be committed: {why}"))),
        }
    }
}

impl Work<'_> {
    /// Reports what the run has changed so far. Only people need it: without it the run
    /// goes on.
    pub(super) async fn report_diff(&self, iteration: u32, commit: String) {
        self.store_undelivered(&commit).await;
        let base = &self.base.commit;
        let diff = self.repository.diff(base, &commit, MAX_DIFF_BYTES as u64);
        let (head, bytes) = match diff.await {
            Ok((head, bytes)) => self.masked(head, bytes),
            Err(why) => {
                tracing::warn!(event = "diff_failed", %why, "the diff could not be made");
                return;
            }
        };
        let snapshot = SnapshotDiff {
            iteration,
            base_commit: base.clone(),
            commit,
            diff: String::new(),
            bytes,
        };
        match packed(snapshot, &head, bytes) {
            Ok(diff) => self.reporter.diff(diff).await,
            Err(why) => {
                tracing::warn!(event = "diff_not_compressed", %why, "the diff could not be compressed")
            }
        }
    }
}

impl Work<'_> {
    /// A diff without values of secrets, which files of the base may have held as context: its beginning, and the
    /// bytes of all of it.
    fn masked(&self, head: Vec<u8>, bytes: u64) -> (Vec<u8>, u64) {
        let masked = self.environment.masks.bytes(&head).into_owned();
        let left_out = bytes.saturating_sub(head.len() as u64);
        let bytes = left_out.saturating_add(masked.len() as u64);
        (masked, bytes)
    }
}

/// Ends a run whose budget is used up, or whose agent failed because it covers no more calls.
pub(super) fn out_of_budget(why: &str) -> Abort {
    let message = format!(
        "the run's budget is used up: {why}. Raise limits.maxCredits or the profile's \
         executionLimits, or give it a smaller task"
    );
    fail(RunErrorCode::BudgetExceeded, &message)
}

/// An iteration that is not verified, because the agent did not do its part.
pub(super) fn agent_failed(tally: &mut Tally, number: u32, failure: &Failure) -> Verdict {
    tally.feedback = vec![Feedback {
        level: None,
        check: "agent".to_owned(),
        message: last_bytes(&failure.reason, MAX_REASON_BYTES),
    }];
    let code = if failure.timed_out {
        RunErrorCode::Timeout
    } else {
        RunErrorCode::AgentFailed
    };
    let message = format!("in the last iteration, number {number}, {}", failure.reason);
    // More than any number of checks: such an iteration is no progress over one that was verified.
    Verdict::NotPassed(usize::MAX, RunError::new(code, &message))
}
