//! The run: workspace, then agent → commit → verification until one passes or none is left, then
//! delivery. Each step reports what it did; every way out is an ending with a code and a sentence.

use std::time::Duration;

use awo_domain::agent::{AgentRequest, Feedback, RequestLimits};
use awo_domain::control::{Outcome, RunSpec, RunnerEvent};
use awo_domain::profile::GitMode;
use awo_domain::run::{RunError, RunErrorCode};
use awo_domain::usage::{ModelUsage, sum_by_model};
use awo_domain::verification::CombinedResult;
use tokio::time::Instant;

use crate::agent::{self, Agents, Attempt, Failure};
use crate::delivery::{self, Delivery};
use crate::git::{Git, GitError};
use crate::layout::Layout;
use crate::plan::FrozenPlan;
use crate::prompt;
use crate::reporter::{Ending, Reporter};
use crate::repository::{Base, Repository};
use crate::settings::Settings;
use crate::stop::{StopReason, StopSignal};
use crate::supervised::Supervised;
use crate::verify::{self, Verification, subject};
use crate::workspace::{self, NoWorkspace};

/// Longest reason of an agent's failure that is told and reported.
const MAX_REASON_BYTES: usize = 4_096;

/// How the loop came to its end.
pub(crate) enum Halted {
    /// With something to report, and the folders to sweep afterwards.
    Ended(Ending, Option<Layout>),
    /// Without: the run was stopped from outside.
    Stopped(StopReason),
}

/// Why a step leads nowhere.
enum Abort {
    Failed(RunError),
    Stopped(StopReason),
}

impl From<StopReason> for Abort {
    fn from(reason: StopReason) -> Abort {
        Abort::Stopped(reason)
    }
}

fn fail(code: RunErrorCode, message: &str) -> Abort {
    Abort::Failed(RunError::new(code, message))
}

/// Does the run that `spec` describes.
pub(crate) async fn run(
    settings: &Settings,
    spec: &RunSpec,
    reporter: &Reporter,
    stop: &StopSignal,
) -> Halted {
    let deadline = Instant::now() + Duration::from_millis(spec.max_duration_ms);
    let supervised = Supervised::new(settings, stop.clone());
    let mut tally = Tally::default();
    let mut layout = None;
    let result = async {
        let made = begin(settings, spec, &supervised)?;
        let made = layout.insert(made);
        let git = Git::new(
            settings.path.clone(),
            stop.clone(),
            spec.allow_file_repositories,
            made.git_config(),
            &spec.git_credentials,
        );
        let repository = Repository::new(git, made);
        let left = deadline.saturating_duration_since(Instant::now());
        let (base, frozen) = workspace::prepare(&repository, made, spec, left)
            .await
            .map_err(|why| match why {
                NoWorkspace::Failed(why) => fail(RunErrorCode::WorkspaceFailed, &why),
                NoWorkspace::Stopped(reason) => Abort::Stopped(reason),
            })?;
        let work = Work {
            spec,
            reporter,
            supervised: &supervised,
            layout: made,
            repository: &repository,
            frozen: &frozen,
            base: &base,
            deadline,
        };
        work.iterate(&mut tally).await?;
        work.deliver(&tally).await
    }
    .await;
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(Abort::Stopped(reason)) => return Halted::Stopped(reason),
        Err(Abort::Failed(error)) => Outcome::Failed {
            code: error.code,
            message: error.message,
            commit: tally.commit,
        },
    };
    let ending = Ending {
        outcome,
        iterations: tally.iterations,
        usage: sum_by_model(&tally.usage),
    };
    Halted::Ended(ending, layout)
}

/// What can be known before anything is cloned, and the folders.
fn begin(settings: &Settings, spec: &RunSpec, supervised: &Supervised) -> Result<Layout, Abort> {
    agent::check_type(&spec.agent)
        .map_err(|why| fail(RunErrorCode::AgentNotConfigured, &why.0))?;
    let broken = |why: &str| fail(RunErrorCode::WorkspaceFailed, why);
    workspace::check_source(spec).map_err(|why| broken(&why))?;
    let root = &settings.workspace_root;
    Layout::create(root, &spec.org_id, &spec.run_id, supervised.user())
        .and_then(|layout| {
            workspace::write_git_config(&layout, spec.allow_file_repositories)?;
            Ok(layout)
        })
        .map_err(|why| broken(&format!("the run's folders could not be made: {why}")))
}

/// What adds up over the iterations.
#[derive(Default)]
struct Tally {
    iterations: u32,
    commit: Option<String>,
    usage: Vec<ModelUsage>,
    feedback: Vec<Feedback>,
    session_id: Option<String>,
    /// The fewest failing checks so far.
    best: Option<usize>,
}

/// How an iteration ended, if the run goes on or fails with it.
enum Verdict {
    Passed,
    /// With the number of failing checks, and what to say if it was the last one.
    NotPassed(usize, RunError),
}

struct Work<'a> {
    spec: &'a RunSpec,
    reporter: &'a Reporter,
    supervised: &'a Supervised,
    layout: &'a Layout,
    repository: &'a Repository,
    frozen: &'a FrozenPlan,
    base: &'a Base,
    deadline: Instant,
}

impl Work<'_> {
    async fn iterate(&self, tally: &mut Tally) -> Result<(), Abort> {
        let ready = RunnerEvent::WorkspaceReady {
            commit: self.base.commit.clone(),
            branch: self.base.branch.clone(),
            work_dir: self.layout.workspace().to_string_lossy().into_owned(),
        };
        self.reporter.event(ready).await;
        let (profile, asked) = (&self.spec.profile, self.spec.asked_iterations);
        loop {
            let (failing, error) = match self.iteration(tally).await? {
                Verdict::Passed => return Ok(()),
                Verdict::NotPassed(failing, error) => (failing, error),
            };
            if self.left().is_zero() {
                return Err(self.out_of_time());
            }
            let best = tally.best;
            tally.best = Some(best.map_or(failing, |best| best.min(failing)));
            if !profile.goes_on(asked, tally.iterations, failing, best) {
                return Err(Abort::Failed(error));
            }
        }
    }

    async fn iteration(&self, tally: &mut Tally) -> Result<Verdict, Abort> {
        let number = tally.iterations + 1;
        let workspace = self.layout.workspace();
        let program = agent::program(&self.spec.agent, &workspace, number);
        if let (Err(why), 1) = (&program, number) {
            return Err(fail(RunErrorCode::AgentNotConfigured, &why.0));
        }
        tally.iterations = number;
        let started = RunnerEvent::IterationStarted { iteration: number };
        self.reporter.event(started).await;
        let attempt = match program {
            Ok(argv) => self.attempt(tally, &argv).await?,
            Err(why) => agent::not_made(why.0),
        };
        tally.usage.extend(attempt.usage.iter().cloned());
        tally.session_id = attempt.session_id.clone().or(tally.session_id.take());
        let mut failure = attempt.failure.clone();
        self.report_attempt(number, attempt).await;
        if let Err(why) = self.commit(tally).await? {
            failure = failure.or(Some(Failure {
                reason: why,
                timed_out: false,
            }));
        }
        if self.left().is_zero() {
            return Err(self.out_of_time());
        }
        match failure {
            Some(failure) => Ok(agent_failed(tally, number, &failure)),
            None => self.verify(tally).await,
        }
    }

    async fn attempt(
        &self,
        tally: &Tally,
        argv: &[std::ffi::OsString],
    ) -> Result<Attempt, StopReason> {
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
            limits: RequestLimits {
                max_iteration_ms: millis(limit),
                max_credits: self.spec.max_credits,
            },
        };
        let agents = Agents {
            supervised: self.supervised,
            layout: self.layout,
        };
        agents.attempt(&request, argv, limit).await
    }

    async fn report_attempt(&self, iteration: u32, attempt: Attempt) {
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

    /// Commits what the agent changed, also where it failed; a sentence for the agent where that
    /// cannot be done.
    async fn commit(&self, tally: &mut Tally) -> Result<Result<(), String>, Abort> {
        let message = prompt::commit_message(&self.spec.task_prompt, tally.iterations);
        match self.repository.commit(&message).await {
            Ok(None) => Ok(Ok(())),
            Ok(Some(commit)) => {
                tally.commit = Some(commit.hash.clone());
                let committed = RunnerEvent::Committed {
                    iteration: tally.iterations,
                    commit: commit.hash,
                    files_changed: commit.files_changed,
                };
                self.reporter.event(committed).await;
                Ok(Ok(()))
            }
            Err(GitError::Stopped(reason)) => Err(Abort::Stopped(reason)),
            Err(why) => Ok(Err(format!("the changes could not be committed: {why}"))),
        }
    }

    async fn verify(&self, tally: &mut Tally) -> Result<Verdict, Abort> {
        let iteration = tally.iterations;
        let levels = self.spec.profile.levels();
        let started = RunnerEvent::VerificationStarted {
            iteration,
            levels: levels.clone(),
        };
        self.reporter.event(started).await;
        let result = self.judge(tally, &levels).await?;
        tally.feedback = verify::feedback(&result);
        let failing = verify::failing(&result);
        let verdict = if result.overall_status.passes() {
            Verdict::Passed
        } else {
            let message = format!(
                "no iteration passed verification; in the last one, number {iteration}, {}",
                result.summary
            );
            let code = RunErrorCode::MaxIterationsReached;
            Verdict::NotPassed(failing, RunError::new(code, &message))
        };
        let finished = RunnerEvent::VerificationFinished {
            iteration,
            levels,
            overall_status: result.overall_status,
            summary: result.summary,
            results: result.results,
        };
        self.reporter.event(finished).await;
        Ok(verdict)
    }

    async fn judge(
        &self,
        tally: &Tally,
        levels: &[awo_domain::verification::Level],
    ) -> Result<CombinedResult, Abort> {
        let number = tally.iterations;
        let commit = tally.commit.as_ref().unwrap_or(&self.base.commit);
        let base = &self.base.commit;
        let made = subject::prepare(
            self.repository,
            self.layout,
            self.frozen,
            base,
            commit,
            number,
        );
        let subject = made.await.map_err(|why| match why {
            GitError::Stopped(reason) => Abort::Stopped(reason),
            why => {
                let message = format!("the commit could not be checked out to be verified: {why}");
                fail(RunErrorCode::WorkspaceFailed, &message)
            }
        })?;
        let limit = Duration::from_millis(self.spec.profile.verification.timeout_ms);
        let limit = limit.min(self.left());
        let plan = &self.frozen.plan;
        let verification = Verification::new(self.supervised, plan, &subject, limit);
        let result = verification.run(levels).await;
        let layout = self.layout.clone();
        // Nobody waits for it: the next one has a folder of its own.
        tokio::task::spawn_blocking(move || subject::remove(&layout, number));
        Ok(result?)
    }

    async fn deliver(&self, tally: &Tally) -> Result<Outcome, Abort> {
        let git_ops = &self.spec.profile.git_ops;
        let Some(commit) = tally.commit.clone() else {
            self.skip_delivery("nothing to deliver: nothing was changed").await;
            return Ok(Outcome::Succeeded {
                commit: None,
                branch: None,
            });
        };
        if git_ops.mode == GitMode::Local {
            let commit = Some(commit);
            return Ok(Outcome::Succeeded {
                commit,
                branch: None,
            });
        }
        self.reporter.event(RunnerEvent::DeliveryStarted {}).await;
        let branch = format!("{}{}", git_ops.branch_prefix, self.spec.run_id);
        let source = &self.spec.source;
        let branch = match delivery::deliver(self.repository, source, &commit, &branch).await {
            Delivery::Delivered => {
                let delivered = RunnerEvent::Delivered {
                    branch: branch.clone(),
                    commit: commit.clone(),
                };
                self.reporter.event(delivered).await;
                Some(branch)
            }
            Delivery::NotAllowed(why) => {
                self.skip_delivery(&why).await;
                None
            }
            Delivery::Rejected(why) => return Err(fail(RunErrorCode::DeliveryFailed, &why)),
            Delivery::Stopped(reason) => return Err(Abort::Stopped(reason)),
        };
        Ok(Outcome::Succeeded {
            commit: Some(commit),
            branch,
        })
    }

    async fn skip_delivery(&self, reason: &str) {
        let reason = reason.to_owned();
        self.reporter
            .event(RunnerEvent::DeliverySkipped { reason })
            .await;
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn out_of_time(&self) -> Abort {
        let message = format!(
            "the run's time of {} ms is used up: raise limits.maxDurationMs or give it a smaller \
             task",
            self.spec.max_duration_ms
        );
        fail(RunErrorCode::Timeout, &message)
    }
}

/// An iteration that is not verified, because the agent did not do its part.
fn agent_failed(tally: &mut Tally, number: u32, failure: &Failure) -> Verdict {
    tally.feedback = vec![Feedback {
        level: None,
        check: "agent".to_owned(),
        message: crate::output::last_bytes(&failure.reason, MAX_REASON_BYTES),
    }];
    let code = match failure.timed_out {
        true => RunErrorCode::Timeout,
        false => RunErrorCode::AgentFailed,
    };
    let message = format!("in the last iteration, number {number}, {}", failure.reason);
    // More than any number of checks: such an iteration is no progress over one that was verified.
    Verdict::NotPassed(usize::MAX, RunError::new(code, &message))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
