//! The engine of verification: from a plan, plugins and a folder to results. It knows neither runs
//! and loops, nor its caller.
//!
//! Levels gate each other: a plugin that does not pass makes those of higher levels `skipped`. A
//! check that cannot be evaluated (a timeout, a broken tool, an unsupported format) is an `error`;
//! nothing passes without an evaluation.
//!
//! A failing test command may be retried, if the profile allows it; a pass on retry is a warning,
//! and so are files that the commands leave in the checkout.
//!
//! Set-up commands run once, before the first level that runs any command, and count as checks of
//! that level.

pub(crate) mod baseline;
mod blackbox;
mod clean_tree;
mod commands;
mod contracts;
mod counts;
mod coverage;
mod custom;
mod files;
mod findings;
mod guard;
mod inspected;
mod missing;
mod report;
mod sanity;
pub(crate) mod subject;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use awo_domain::plugin::{BuiltIn, Plugin, PluginId};
use awo_domain::profile::ExecutionLimits;
use awo_domain::verification::{Check, CombinedResult, PluginResult, Status};
use awo_supervisor::Limits;
use tokio::time::Instant;

use crate::contained_process::Variables;
use crate::contained_process::{AtTimeout, ContainedProcesses, End, FinishedCommand, Job};
use crate::limits;
use crate::output::Tail;
use crate::plan::{Command, Plan};
use crate::repository::Change;
use crate::stop::StopOutcome;

use clean_tree::Differing;
use findings::Stamp;
use inspected::no_answer;

pub(crate) use blackbox::blackbox_faults;
pub(crate) use clean_tree::Tree;
pub(crate) use contracts::{forbidden, forbidden_name, required, required_name, schema};
pub(crate) use coverage::coverage;
pub(crate) use files::list as every_file;
pub(crate) use findings::Findings;
pub(crate) use guard::{Guard, NotPrepared};
pub(crate) use missing::MissingTool;
pub(crate) use report::{failing, feedback, not_judged, recombined, remark};
pub(crate) use sanity::{LARGE_FILES, LEFTOVERS, large_files, leftovers};

/// Output of a command that becomes the check's message, at its end.
const KEEP_OUTPUT_BYTES: usize = 16_384;

/// What is verified.
#[derive(Debug)]
pub(crate) struct Subject {
    /// The checkout.
    pub(crate) dir: PathBuf,
    /// A private home and a place for temporary files of the commands.
    pub(crate) home: PathBuf,
    pub(crate) tmp: PathBuf,
    /// For the requests of inspections.
    pub(crate) request: PathBuf,
    /// The files that checks of sanity read, relative to `dir`; everything where absent.
    pub(crate) changed: Option<Vec<PathBuf>>,
    /// Test files that must be there and are not.
    pub(crate) gone_test_files: Vec<PathBuf>,
    /// Changes of test files that are not put back.
    pub(crate) tests_changed: Vec<Change>,
    /// The only files that are checked for forbidden files and schemas, where there is a limit.
    pub(crate) only: Option<HashSet<PathBuf>>,
    /// A file with the task, for custom plugins.
    pub(crate) prompt: Option<PathBuf>,
}

impl Subject {
    /// What its commands may write.
    fn places(&self) -> [&Path; 3] {
        [&self.dir, &self.home, &self.tmp]
    }
}

/// A command word by word.
struct Words<'a> {
    name: &'a str,
    argv: &'a [OsString],
    env: &'a [(&'a str, OsString)],
    limit: Duration,
}

/// One verification.
pub(crate) struct Verification<'a> {
    pub(crate) processes: &'a ContainedProcesses,
    pub(crate) plan: &'a Plan,
    pub(crate) subject: &'a Subject,
    /// The end of the whole verification's time.
    deadline: Instant,
    limit: Duration,
    /// What each command may take of the machine.
    limits: Limits,
    /// The environment's variables.
    variables: Variables,
    /// Whether the set-up commands passed, once they ran.
    set_up: Option<bool>,
    /// How often a test command that fails is tried again.
    retries: u32,
    /// The commit that is verified; absent where a workspace is verified in place.
    tree: Option<Tree<'a>>,
    /// What differed from it before the first command.
    differed_before: Option<Differing>,
    /// What stood in the place of the coverage report before the first command.
    coverage_before: Option<Stamp>,
    /// Findings that are checks of their own so far.
    named: usize,
    /// True once a check of the plan itself, or a custom plugin, ran something that passed.
    verified: bool,
    /// The first program of the plan that is not there.
    missing: Option<MissingTool>,
}

/// The outcome of a verification.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) result: CombinedResult,
    /// True if it passes, and something of the plan itself ran and passed.
    pub(crate) verified: bool,
    /// True if something of the plan itself ran and passed, whatever else did not.
    pub(crate) has_evidence: bool,
    /// A program of the plan that is not there.
    pub(crate) missing: Option<MissingTool>,
}

impl From<CombinedResult> for Judgement {
    fn from(result: CombinedResult) -> Judgement {
        Judgement {
            result,
            verified: false,
            has_evidence: false,
            missing: None,
        }
    }
}

impl<'a> Verification<'a> {
    /// A verification whose clock starts now.
    pub(crate) fn new(
        processes: &'a ContainedProcesses,
        plan: &'a Plan,
        subject: &'a Subject,
        limit: Duration,
    ) -> Verification<'a> {
        Verification {
            processes,
            plan,
            subject,
            deadline: Instant::now() + limit,
            limit,
            limits: Limits::default(),
            variables: Variables::new(),
            set_up: None,
            retries: 0,
            tree: None,
            differed_before: None,
            coverage_before: None,
            named: 0,
            verified: false,
            missing: None,
        }
    }

    /// Counts the time since then as part of the verification's.
    pub(crate) fn begun_at(self, began: Instant) -> Verification<'a> {
        let deadline = began + self.limit;
        Verification { deadline, ..self }
    }

    /// Tries a test command that fails again, up to so many times.
    pub(crate) fn retrying(self, retries: u32) -> Verification<'a> {
        Verification { retries, ..self }
    }

    /// Gives these variables to each command.
    pub(crate) fn with(self, variables: Variables) -> Verification<'a> {
        Verification { variables, ..self }
    }

    /// Keeps each command to a profile's limits.
    pub(crate) fn within(self, limits: &ExecutionLimits) -> Verification<'a> {
        let limits = limits::limits(limits, &self.subject.places());
        Verification { limits, ..self }
    }

    /// Marks the subject as the clean checkout of a commit.
    pub(crate) fn of_commit(self, tree: Tree<'a>) -> Verification<'a> {
        let tree = Some(tree);
        Verification { tree, ..self }
    }

    /// Runs these plugins, which are in order.
    ///
    /// # Errors
    /// When everything is to stop.
    pub(crate) async fn run(mut self, plugins: &[Plugin]) -> Result<Judgement, StopOutcome> {
        let began = Instant::now();
        let is_sanity = |plugin: &Plugin| plugin.id == PluginId::BuiltIn(BuiltIn::Sanity);
        if plugins.iter().any(is_sanity) {
            self.differed_before = self.differing().await?;
            self.coverage_before = self.coverage_stamp().await;
        }
        let mut results: Vec<PluginResult> = Vec::new();
        for plugin in plugins {
            let closes =
                |result: &&PluginResult| result.level < plugin.level && !result.status.passes();
            let result = match results.iter().find(closes) {
                Some(gate) => report::not_run(plugin, gate.level),
                None => {
                    let began = Instant::now();
                    let checks = self.checks_of(plugin).await?;
                    report::plugin(plugin, checks, began.elapsed())
                }
            };
            results.push(result);
        }
        let mut result = report::combined(results, began.elapsed());
        let passes = result.overall_status.passes();
        if passes && !self.verified {
            report::unverified(&mut result);
        }
        Ok(Judgement {
            verified: self.verified && passes,
            has_evidence: self.verified,
            missing: self.missing,
            result,
        })
    }

    async fn checks_of(&mut self, plugin: &Plugin) -> Result<Vec<Check>, StopOutcome> {
        if self.left().is_zero() {
            return Ok(vec![error(&plugin.name, &self.out_of_time("not run: "))]);
        }
        match plugin.id {
            PluginId::BuiltIn(BuiltIn::Contracts) => self.contracts().await,
            PluginId::BuiltIn(BuiltIn::Tests) => {
                let kind = Kind::Test {
                    retries: self.retries,
                };
                self.commands(&self.plan.tests, kind).await
            }
            PluginId::BuiltIn(BuiltIn::Blackbox) => self.blackbox().await,
            PluginId::BuiltIn(BuiltIn::Sanity) => self.sanity().await,
            PluginId::Custom(_) => self.custom(plugin).await,
        }
    }

    /// Runs a command; a check where there is no time for it.
    async fn shell(
        &self,
        command: &Command,
    ) -> Result<Result<FinishedCommand, Check>, StopOutcome> {
        let argv = ["sh", "-c", command.run.as_str()].map(Into::into);
        let words = Words {
            name: command.name(),
            argv: &argv,
            env: &[],
            limit: command.limit(),
        };
        self.process(&words).await
    }

    async fn process(
        &self,
        words: &Words<'_>,
    ) -> Result<Result<FinishedCommand, Check>, StopOutcome> {
        let left = self.left();
        if left.is_zero() {
            return Ok(Err(error(words.name, &self.out_of_time("not run: "))));
        }
        let subject = self.subject;
        let of_environment = self.variables.iter();
        let env: Vec<(&str, OsString)> = of_environment
            .map(|(name, value)| (name.as_str(), value.clone()))
            .chain(words.env.iter().cloned())
            .collect();
        let reads: Vec<&Path> = subject.prompt.iter().map(PathBuf::as_path).collect();
        let job = Job {
            argv: words.argv,
            dir: &subject.dir,
            home: &subject.home,
            tmp: &subject.tmp,
            reads: &reads,
            env: &env,
            limit: words.limit.min(left),
            at_timeout: AtTimeout::Kill,
            limits: self.limits.clone(),
            called_off: None,
            keep_bytes: KEEP_OUTPUT_BYTES,
            heard: None,
        };
        match self.processes.run(job).await {
            Ok(finished) => Ok(Ok(finished)),
            Err(interrupted) => Err(interrupted.stopped),
        }
    }

    /// The output of a command that is judged by its exit code.
    fn judged(&self, name: &str, limit: Duration, finished: &FinishedCommand) -> Check {
        match finished.end {
            End::Exited(0) => passed(name, &took(finished)),
            End::Exited(code) => {
                let what = format!("exit code {code} {}", took(finished));
                failed(name, &with_output(&what, &finished.output))
            }
            _ => self.broken(name, limit, finished),
        }
    }

    /// Time that is left of the whole verification.
    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// A check whose command did not end by itself.
    fn broken(&self, name: &str, limit: Duration, finished: &FinishedCommand) -> Check {
        if let End::OverLimit(why) = &finished.end {
            let what = format!("ended: {why}");
            return failed(name, &with_output(&what, &finished.output));
        }
        let what = match &finished.end {
            End::Exited(code) => format!("exit code {code}"),
            End::Signaled(signal) => format!("killed by signal {signal}"),
            End::TimedOut if self.deadline <= Instant::now() => self.out_of_time(""),
            End::TimedOut => format!("timed out after {} ms", limit.as_millis()),
            End::CalledOff(why) | End::OverLimit(why) => format!("ended: {why}"),
            End::NotStarted(why) => format!("could not be started: {why}"),
            End::SupervisorLost => "killed its own supervisor".to_owned(),
        };
        error(name, &with_output(&what, &finished.output))
    }

    fn out_of_time(&self, before: &str) -> String {
        let ms = self.limit.as_millis();
        format!("{before}the verification's time of {ms} ms is used up")
    }
}

/// What a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A linter, or set-up.
    Other,
    /// Tests: they are counted, and run again up to so many times if they fail.
    Test { retries: u32 },
}

fn took(finished: &FinishedCommand) -> String {
    format!("after {} ms", finished.took.as_millis())
}

fn with_output(what: &str, output: &Tail) -> String {
    let text = output.text();
    match text.trim() {
        "" => format!("{what}, without any output"),
        text => format!("{what}; its output ends with:\n{text}"),
    }
}

pub(crate) fn check(name: &str, status: Status, message: &str) -> Check {
    Check {
        name: name.to_owned(),
        status,
        message: message.to_owned(),
    }
}

fn passed(name: &str, message: &str) -> Check {
    check(name, Status::Passed, message)
}

fn failed(name: &str, message: &str) -> Check {
    check(name, Status::Failed, message)
}

pub(crate) fn error(name: &str, message: &str) -> Check {
    check(name, Status::Error, message)
}
