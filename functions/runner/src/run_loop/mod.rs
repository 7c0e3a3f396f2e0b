//! The run: workspace, then agent → commit → verification until one passes or none is left, then
//! delivery. A run that asks for children ends for now, and continues in another runner by merging
//! their results. Each step reports its result; every exit is an ending with a code and a message.

mod attempt_outputs;
mod baselines;
mod beginning;
mod children;
mod delivered;
mod gates;
mod hooks;
mod installation;
mod integration;
mod outages;
mod protection;
mod services;
mod setup;
mod shared_baselines;
mod steps;
mod submodules;
mod tally;
mod tools;
mod turns;
mod verdicts;
mod workflows;

use std::path::PathBuf;
use std::time::Duration;

use awo_domain::control::{Outcome, RunSpec};
use awo_domain::run::{RunError, RunErrorCode};
use awo_domain::usage::sum_by_model;
use awo_forges::Hosts;
use tokio::time::Instant;

use crate::agent;
use crate::contained_process::{ClientCode, ContainedProcesses};
use crate::delivery::forges;
use crate::environment::{Cache, Environment};
use crate::git_credentials::GitCredentials;
use crate::layout::Layout;
use crate::live_output::LiveOutput;
use crate::messages::Ending;
use crate::meter::SharedMeter;
use crate::plan::FrozenPlan;
use crate::proxy::Proxy;
use crate::registries::Registries;
use crate::reporter::Reporter;
use crate::repository::{Base, Repository};
use crate::settings::Settings;
use crate::stop::{StopOutcome, StopSignal};
use crate::turn_files::TurnFiles;
use crate::turns::EarlierWork;
use crate::workspace::{self, NoWorkspace};
use beginning::{begin, caches, meter, start_proxy, surroundings};
use outages::Patience;
use protection::left_out_feedback;
use submodules::submodules_feedback;
use tally::Tally;
use verdicts::Verdict;

/// How the loop came to its end.
pub(crate) enum LoopEnd {
    /// The run's own.
    Ended(Outcome),
    /// It was stopped from outside; nothing of what it had started is alive.
    Stopped(StopOutcome),
}

/// What feedback is called that comes of children.
const CHILDREN_CHECK: &str = "children";

/// Why no step follows.
enum Abort {
    Failed(RunError),
    /// The run ends for now, to wait for its children.
    Waits(Outcome),
    Stopped(StopOutcome),
}

impl From<StopOutcome> for Abort {
    fn from(stopped: StopOutcome) -> Abort {
        Abort::Stopped(stopped)
    }
}

impl From<NoWorkspace> for Abort {
    fn from(why: NoWorkspace) -> Abort {
        match why {
            NoWorkspace::Failed(why) => fail(RunErrorCode::WorkspaceFailed, &why),
            NoWorkspace::NoChild(why) => fail(RunErrorCode::ChildrenFailed, &why),
            NoWorkspace::Stopped => Abort::Stopped(StopOutcome::default()),
        }
    }
}

fn fail(code: RunErrorCode, message: &str) -> Abort {
    Abort::Failed(RunError::new(code, message))
}

/// The reportable state of a run at any moment, also when it is cut short.
#[derive(Default)]
pub(crate) struct Progress {
    layout: Option<Layout>,
    tally: Tally,
}

impl Progress {
    /// The last commit that there is.
    pub(crate) fn commit(&self) -> Option<String> {
        self.tally.commit.clone()
    }

    /// With whether a process of client code has started, here or before it waited for children.
    pub(crate) fn ending(&self, outcome: Outcome, client_code: &ClientCode) -> Ending {
        Ending {
            outcome,
            iterations: self.tally.iterations,
            usage: sum_by_model(&self.tally.usage),
            executed: self.tally.resumes || client_code.has_started(),
            nothing_alive: false,
            turn: self.tally.turn_end(),
        }
    }

    /// The agent's clone, if there is one.
    pub(crate) fn workspace(&self) -> Option<PathBuf> {
        self.layout.as_ref().map(Layout::workspace)
    }

    /// The run's folders, with the session in which its agent worked last, if there is one.
    pub(crate) fn session(&self) -> Option<(&Layout, &str)> {
        self.layout.as_ref().zip(self.tally.session_id.as_deref())
    }

    /// The run's folders, if it has any.
    pub(crate) fn into_layout(self) -> Option<Layout> {
        self.layout
    }
}

/// Does the run that `spec` describes.
pub(crate) async fn run(
    settings: &Settings,
    spec: &RunSpec,
    reporter: &Reporter,
    stop: &StopSignal,
    progress: &mut Progress,
) -> LoopEnd {
    let Progress { layout, tally } = progress;
    *tally = Tally::of(spec);
    let began = Instant::now();
    let result = async {
        let (environment, registries) = surroundings(settings, spec).await?;
        // What is hidden from commands has to be there when they are confined; a failure is
        // reported with the run's folders.
        let _ = std::fs::create_dir_all(&settings.workspace_root);
        let processes =
            ContainedProcesses::new(settings, stop.clone()).noting(reporter.client_code().clone());
        let processes = environment.processes(processes);
        let cache = caches(settings, spec);
        let made = layout.insert(begin(settings, spec, &processes)?);
        let processes = processes.reading(made.objects()).reading(made.modules());
        let credentials = GitCredentials::new(&spec.git_credentials, Some(reporter.clone()));
        credentials.report().await;
        let repository = beginning::repository(settings, spec, stop, made, &credentials);
        let left = left_of(spec, began);
        let turn_files = TurnFiles::of(settings, &spec.org_id);
        let is_over = forges::is_over(&settings.hosts, &credentials, spec).await;
        let turn = EarlierWork::new(&turn_files, is_over);
        let prepared = workspace::prepare(&repository, &processes, made, spec, turn, left);
        let (base, frozen) = prepared.await?;
        tally.restore_session(settings, spec, made).await;
        let meter = meter(spec, began)?;
        let proxy = start_proxy(spec, reporter, &meter, &environment).await?;
        let mut work = Work {
            spec: spec.clone(),
            proxy: proxy.as_ref(),
            meter: &meter,
            reporter,
            environment: &environment,
            cache: cache.as_ref(),
            registries: &registries,
            live: LiveOutput::new(reporter.clone()),
            processes: &processes,
            layout: made,
            repository: &repository,
            frozen,
            base,
            hosts: &settings.hosts,
            credentials: &credentials,
            turn_files,
            began,
            patience: Patience::after(spec.provider_waited_ms),
            waited: Duration::ZERO,
        };
        if let Some(head) = work.base.head.clone() {
            return work.verify_head(tally, &head).await;
        }
        work.check_tools().await?;
        work.post_create().await?;
        work.set_up().await?;
        let is_installed = work.install().await?;
        work.check_tools_again(is_installed).await?;
        work.iterate(tally).await?;
        work.deliver(tally).await
    }
    .await;
    match result {
        Ok(outcome) => LoopEnd::Ended(outcome),
        Err(Abort::Stopped(stopped)) => LoopEnd::Stopped(stopped),
        Err(Abort::Waits(outcome)) => LoopEnd::Ended(outcome),
        Err(Abort::Failed(error)) => LoopEnd::Ended(Outcome::Failed {
            code: error.code,
            message: error.message,
            commit: tally.commit.clone(),
        }),
    }
}

struct Work<'a> {
    /// With the profile as it is for the present iteration.
    spec: RunSpec,
    reporter: &'a Reporter,
    live: LiveOutput,
    processes: &'a ContainedProcesses,
    proxy: Option<&'a Proxy>,
    meter: &'a SharedMeter,
    environment: &'a Environment,
    cache: Option<&'a Cache>,
    registries: &'a Registries,
    layout: &'a Layout,
    repository: &'a Repository,
    frozen: FrozenPlan,
    base: Base,
    hosts: &'a Hosts,
    credentials: &'a GitCredentials,
    turn_files: TurnFiles,
    began: Instant,
    /// What is left of the time that the run waits for providers, and what was used of it here.
    patience: Patience,
    waited: Duration,
}

impl Work<'_> {
    async fn iterate(&mut self, tally: &mut Tally) -> Result<(), Abort> {
        self.report_workspace().await;
        let noted = self.repository.note_present().await;
        noted.map_err(setup::not_set_up)?;
        self.begin_turn(tally).await?;
        self.baseline(tally).await?;
        self.merge_target(tally).await?;
        let mut gone_on = self.go_on(tally).await?;
        loop {
            let verdict = match gone_on.take() {
                Some(verdict) => verdict,
                None => self.iteration(tally).await?,
            };
            if matches!(verdict, Verdict::NotPassed(..)) {
                tally.feedback.extend(left_out_feedback(&tally.left_out));
                tally.feedback.extend(submodules_feedback(&self.base));
            }
            let last = self.iterated(tally, &verdict);
            if !self.spec.profile.goes_on(self.spec.asked_iterations, &last) {
                return match verdict {
                    Verdict::Passed => Ok(()),
                    Verdict::NotPassed(..) if self.left().is_zero() => Err(self.out_of_time()),
                    Verdict::NotPassed(_, error) => Err(self.given_up(&last, error)),
                };
            }
            self.check_budget()?;
            if self.left().is_zero() {
                return Err(self.out_of_time());
            }
        }
    }

    async fn iteration(&mut self, tally: &mut Tally) -> Result<Verdict, Abort> {
        let number = tally.iterations + 1;
        let workspace = self.layout.workspace();
        let program = agent::program(&self.spec.agent, &workspace, number);
        if let (Err(why), 1) = (&program, number) {
            return Err(fail(RunErrorCode::AgentNotConfigured, &why.0));
        }
        tally.iterations = number;
        if program.is_ok() {
            // The report of the iteration's start carries it, so that the agent waits for no other.
            self.reporter.client_code().note_start();
        }
        self.begin(number).await?;
        let attempt = match program {
            Ok(program) => self.tries(tally, &program).await?,
            Err(why) => agent::not_made(why.0),
        };
        tally.usage.extend(attempt.usage.iter().cloned());
        self.meter.lock().spent(&tally.usage);
        tally.keep_output(self.spec.agent.kind, attempt.output.as_ref());
        if let Some(stopped) = attempt.stopped {
            return Err(Abort::Stopped(stopped));
        }
        let failure = attempt.failure.clone();
        let children = attempt.children.clone();
        let before = tally.session_id.take();
        // A program that cannot resume its session says none: the next iteration begins anew.
        let goes_on = failure.is_none() || !agent::is_driver(self.spec.agent.kind);
        tally.session_id = attempt.session_id.clone().or(before.filter(|_| goes_on));
        tally.note_summary(attempt.summary.as_deref());
        let over_budget = attempt.over_budget.clone().filter(|_| failure.is_some());
        self.report_attempt(number, attempt).await;
        if let Some(failure) = failure.as_ref().filter(|failure| failure.is_not_started()) {
            let message = format!("{}: correct agent.command", failure.reason);
            return Err(fail(RunErrorCode::AgentFailed, &message));
        }
        let stored = self.keep(tally, failure).await?;
        if self.left().is_zero() {
            return Err(self.out_of_time());
        }
        if let Some(why) = over_budget {
            return Err(steps::out_of_budget(&why));
        }
        match stored {
            Some(verdict) => Ok(verdict),
            None if !children.is_empty() => self.ask(tally, children).await,
            None => self.integrate(tally).await,
        }
    }

    /// For how long the run may go on, by its time and by its credits.
    fn left(&self) -> Duration {
        let paid = self.meter.lock().time_left();
        self.time_left().min(paid)
    }

    /// What is left of the run's time; what it waited for providers is not part of it.
    fn time_left(&self) -> Duration {
        left_of(&self.spec, self.began + self.waited)
    }

    fn out_of_time(&self) -> Abort {
        if !self.time_left().is_zero()
            && let Err(over_budget) = self.check_budget()
        {
            return over_budget;
        }
        let message = format!(
            "the run's time limit of {} ms is reached: raise limits.maxDurationMs or give it a \
             smaller task",
            self.spec.max_duration_ms
        );
        fail(RunErrorCode::Timeout, &message)
    }
}

/// What is left of the run's time.
fn left_of(spec: &RunSpec, began: Instant) -> Duration {
    Duration::from_millis(spec.max_duration_ms).saturating_sub(began.elapsed())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
