//! The engine of verification: from a plan, plugins and a folder to results. It knows neither runs
//! and loops, nor its caller.
//!
//! Levels gate each other: a plugin that does not pass makes those of higher levels `skipped`. Tests
//! (L1) are run all the same, but for those that need a command which did not pass. A
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
mod coverage;
mod custom;
mod files;
mod findings;
mod guard;
mod inspected;
mod judgement;
mod machine;
mod messages;
mod missing;
mod report;
mod sanity;
mod steps;
pub(crate) mod subject;
mod tested;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use awo_domain::plugin::{BuiltIn, Plugin, PluginId};
use awo_domain::profile::ExecutionLimits;
use awo_domain::verification::{Check, Evidence, Level, PluginResult, TestCounts};
use awo_supervisor::Limits;
use tokio::time::Instant;

use crate::contained_process::Variables;
use crate::contained_process::{AtTimeout, ContainedProcesses, FinishedCommand, Job, Listener};
use crate::limits;
use crate::plan::{Command, FrozenPlan, Plan};
use crate::repository::Change;
use crate::stop::StopOutcome;
use crate::toolchains::{Manifest, Program};

use clean_tree::Differing;
use findings::Stamp;
use inspected::no_answer;
use messages::{failed, passed, took, with_output};

pub(crate) use blackbox::blackbox_faults;
pub(crate) use clean_tree::Tree;
pub(crate) use contracts::{forbidden, forbidden_name, required, required_name, schema};
pub(crate) use coverage::coverage;
pub(crate) use files::list as every_file;
pub(crate) use findings::{Findings, Moment};
pub(crate) use guard::{Guard, NotPrepared};
pub(crate) use judgement::Judgement;
pub(crate) use machine::Network;
pub(crate) use messages::{check, error};
pub(crate) use missing::MissingTool;
pub(crate) use report::{failing, feedback, not_judged, recombined, remark};
pub(crate) use sanity::{LARGE_FILES, LEFTOVERS, large_files, leftovers};

/// Makes tools end that would watch files or ask questions.
pub(crate) const CI: (&str, &str) = ("CI", "true");
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
    /// Changes of files that decide what commands do.
    pub(crate) gate_changed: Vec<Change>,
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
    /// Receiver of its output as it comes.
    heard: Option<&'a dyn Listener>,
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
    /// Installations of a detected plan.
    install: &'a [Command],
    /// Files of the base in which its commands' own commands stand.
    manifests: &'a [Manifest],
    /// Programs of a detected plan.
    programs: &'a [Program],
    /// Protected patterns that no file of the base matches.
    unmatched: &'a [String],
    /// Advice where nothing is verified.
    advice: Option<&'a str>,
    /// True if tests follow that need the installation, which is of the contracts' level.
    installs_for_tests: bool,
    /// Whether the set-up commands passed, once they ran.
    set_up: Option<bool>,
    /// Outcomes of the commands of set-up, installation and contracts, by name: true if one passed.
    outcomes: BTreeMap<String, bool>,
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
    /// True if the exit code of a command that names no number of tests is evidence: the plan's author
    /// named it as a test.
    has_named_tests: bool,
    /// Evidence so far that tests ran and passed.
    evidence: Evidence,
    /// Counted tests so far.
    tests: TestCounts,
    /// The first program of the plan that is not there.
    missing: Option<MissingTool>,
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
            install: &[],
            manifests: &[],
            programs: &[],
            unmatched: &[],
            advice: None,
            installs_for_tests: false,
            set_up: None,
            outcomes: BTreeMap::new(),
            retries: 0,
            tree: None,
            differed_before: None,
            coverage_before: None,
            named: 0,
            has_named_tests: true,
            evidence: Evidence::None,
            tests: TestCounts::default(),
            missing: None,
        }
    }

    /// Installs what a detected plan needs before its first command.
    pub(crate) fn installing(self, install: &'a [Command]) -> Verification<'a> {
        Verification { install, ..self }
    }

    /// Holds it against the base: scripts that name programs, patterns that match nothing, and advice
    /// where the plan has nothing to run.
    pub(crate) fn of_base(self, frozen: &'a FrozenPlan) -> Verification<'a> {
        Verification {
            manifests: &frozen.manifests,
            programs: &frozen.programs,
            unmatched: &frozen.unmatched,
            advice: frozen.advice(),
            has_named_tests: !frozen.keeps_test_files,
            ..self
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
        let has = |part| {
            plugins
                .iter()
                .any(|plugin| plugin.id == PluginId::BuiltIn(part))
        };
        self.installs_for_tests =
            !self.install.is_empty() && !self.plan.tests.is_empty() && has(BuiltIn::Tests);
        if has(BuiltIn::Sanity) {
            self.differed_before = self.differing().await?;
            self.coverage_before = self.coverage_stamp().await;
        }
        let mut results: Vec<PluginResult> = Vec::new();
        for plugin in plugins {
            // A linter that is red or missing does not hide the tests.
            let is_gated = plugin.level != Level::L1;
            let closes = |result: &&PluginResult| {
                is_gated && result.level < plugin.level && !result.status.passes()
            };
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
        if result.overall_status.passes() && self.evidence == Evidence::None {
            report::unverified(&mut result, self.advice);
        }
        Ok(Judgement {
            evidence: self.evidence,
            tests: self.tests,
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
        heard: Option<&dyn Listener>,
    ) -> Result<Result<FinishedCommand, Check>, StopOutcome> {
        let argv = ["sh", "-c", command.run.as_str()].map(Into::into);
        let words = Words {
            name: command.name(),
            argv: &argv,
            env: &[],
            limit: command.limit(),
            heard,
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
        let of_environment = of_environment.map(|(name, value)| (name.as_str(), value.clone()));
        let env: Vec<(&str, OsString)> = std::iter::once((CI.0, CI.1.into()))
            .chain(of_environment)
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
            heard: words.heard,
        };
        match self.processes.run(job).await {
            Ok(finished) => Ok(Ok(finished)),
            Err(interrupted) => Err(interrupted.stopped),
        }
    }

    /// Time that is left of the whole verification.
    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
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
