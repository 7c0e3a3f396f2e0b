//! A verification of a working copy, without a service: the plan as a run would determine it, its
//! checks and their results, by the engine of runs. Commands run in a clean checkout, or in the folder
//! itself, as the caller's user.

mod checkout;
mod git_call;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use awo_domain::plugin::Plugin;
use awo_domain::verification::{CombinedResult, Level, VerificationOutcome};
use awo_supervisor::{KILL_LIMIT, become_subreaper, kill_descendants};
use serde::Serialize;
use thiserror::Error;

pub use self::git_call::CheckoutError;
use crate::contained_process::{ContainedProcesses, Variables};
use crate::inspection::{Inspector, MEMORY_MB};
use crate::plan::{Command, FrozenPlan, Reasons};
use crate::stop;
use crate::toolchains;
use crate::verify::{Subject, Verification};

/// How long everything may take.
const LIMIT: Duration = Duration::from_secs(3_600);
/// For the owner alone.
const PRIVATE: u32 = 0o700;

/// The subject of a verification, and its outcome.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkingCopy {
    /// The plan.
    pub plan: PlanOutline,
    /// Its outcome; absent where only the plan was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<CombinedResult>,
    /// True if it passes, and tests are known to have run and passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// Status, evidence and counted tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationOutcome>,
}

/// A plan for people.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanOutline {
    /// `verify.yaml`, or `detected`.
    pub source: &'static str,
    /// What is to be run, in its order; set-up comes first and has no level.
    pub steps: Vec<PlanStep>,
    /// Origin of a detected plan: a line for each unit.
    pub units: Vec<String>,
    /// Manifests that a detected plan leaves out.
    pub left_out: Vec<String>,
    /// Advice where nothing could be detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The same plan as a `verify.yaml`, if it was detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub yaml: Option<String>,
}

/// One part of a plan.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    /// Absent for set-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// What its check is called.
    pub name: String,
    /// What goes to `sh -c`, if anything does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// Reason why a working copy has no verification.
#[derive(Debug, Error)]
pub enum WorkingCopyError {
    /// The folder cannot be entered.
    #[error("{}: {}", .0.display(), .1)]
    NotReadable(PathBuf, io::Error),
    /// The path leads to something else.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// There is no place for the checkout.
    #[error("a folder for temporary files could not be made: {0}")]
    NoScratch(io::Error),
    /// The clean checkout cannot be made.
    #[error(transparent)]
    Checkout(#[from] CheckoutError),
    /// The plan has to be corrected.
    #[error("{0}")]
    WrongPlan(String),
    /// This machine does not grant what a verification needs.
    #[error("{0}")]
    Machine(String),
    /// Everything was asked to stop.
    #[error("stopped")]
    Stopped,
}

/// Files that a verification of a working copy sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subjects {
    /// A clean checkout, as a run's: tracked files and new ones, and nothing that git ignores.
    Checkout,
    /// The folder itself, with all that lies in it.
    Folder,
}

/// Finds the plan of `dir`, and follows it unless only the plan is wanted. The program that calls
/// this must answer to `supervise` and `inspect`, as `runner` does.
///
/// # Errors
/// [`WorkingCopyError`], whose words are for people.
pub fn verify_working_copy(
    dir: &Path,
    subjects: Subjects,
    only_plan: bool,
) -> Result<WorkingCopy, WorkingCopyError> {
    let dir =
        fs::canonicalize(dir).map_err(|why| WorkingCopyError::NotReadable(dir.to_owned(), why))?;
    if !dir.is_dir() {
        return Err(WorkingCopyError::NotAFolder(dir));
    }
    become_subreaper().map_err(|why| WorkingCopyError::Machine(why.to_string()))?;
    let scratch = Scratch::create().map_err(WorkingCopyError::NoScratch)?;
    let dir = match subjects {
        Subjects::Folder => dir,
        Subjects::Checkout => checkout::check_out(&dir, &scratch.0.join("checkout"))?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| WorkingCopyError::Machine(why.to_string()))?;
    let verified = runtime.block_on(verify(&dir, &scratch, only_plan));
    runtime.shutdown_background();
    kill_descendants(KILL_LIMIT, |_| ());
    verified
}

async fn verify(
    dir: &Path,
    scratch: &Scratch,
    only_plan: bool,
) -> Result<WorkingCopy, WorkingCopyError> {
    let (_switch, stop) = stop::channel();
    let processes = ContainedProcesses::local(stop).map_err(WorkingCopyError::Machine)?;
    let subject = scratch.subject(dir);
    let inspector = Inspector {
        processes: &processes,
        dir: &subject.dir,
        home: &subject.home,
        tmp: &subject.tmp,
        request: subject.request.clone(),
        memory_mb: MEMORY_MB,
    };
    let stopped = |_| WorkingCopyError::Stopped;
    let frozen = inspector.plan(LIMIT).await.map_err(stopped)?;
    let frozen = frozen.map_err(WorkingCopyError::WrongPlan)?;
    let plan = outline(&frozen);
    if only_plan {
        return Ok(WorkingCopy {
            plan,
            result: None,
            verified: None,
            verification: None,
        });
    }
    let install = frozen.installs();
    let verification = Verification::new(&processes, &frozen.plan, &subject, LIMIT)
        .installing(&install)
        .of_base(&frozen)
        .with(caches());
    let judgement = verification.run(&Plugin::all_built_in()).await;
    let judgement = judgement.map_err(stopped)?;
    Ok(WorkingCopy {
        plan,
        verified: Some(judgement.outcome().is_verified()),
        verification: Some(judgement.outcome()),
        result: Some(judgement.result),
    })
}

/// Variables by which the commands find what the caller's own package managers downloaded.
fn caches() -> Variables {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match home.filter(|home| home.is_absolute()) {
        Some(home) => toolchains::caches(&home, |name| std::env::var_os(name)),
        None => Variables::new(),
    }
}

fn outline(frozen: &FrozenPlan) -> PlanOutline {
    let plan = &frozen.plan;
    let command = |level: Option<Level>| {
        move |command: &Command| PlanStep {
            level,
            name: command.name().to_owned(),
            run: Some(command.run.as_str().to_owned()),
        }
    };
    let named = |level: Level, name: String| PlanStep {
        level: Some(level),
        name,
        run: None,
    };
    let contracts = &plan.contracts;
    let mut steps: Vec<PlanStep> = plan.setup.iter().map(command(None)).collect();
    steps.extend(frozen.installs().iter().map(command(Some(Level::L0))));
    for glob in &contracts.required_files {
        steps.push(named(Level::L0, crate::verify::required_name(glob)));
    }
    for glob in &contracts.forbidden_files {
        steps.push(named(Level::L0, crate::verify::forbidden_name(glob)));
    }
    for schema in &contracts.schemas {
        steps.push(named(
            Level::L0,
            format!("schema: {}", schema.file.as_str()),
        ));
    }
    steps.extend(contracts.commands.iter().map(command(Some(Level::L0))));
    steps.extend(plan.tests.iter().map(command(Some(Level::L1))));
    for one in &plan.blackbox {
        steps.push(command(Some(Level::L2))(&one.command()));
    }
    let sanity = &plan.sanity;
    let of_sanity = [
        (sanity.max_file_bytes.is_some(), crate::verify::LARGE_FILES),
        (sanity.forbid_debug_leftovers, crate::verify::LEFTOVERS),
        (sanity.coverage.is_some(), "coverage"),
    ];
    for (_, name) in of_sanity.into_iter().filter(|(wanted, _)| *wanted) {
        steps.push(named(Level::L3, name.to_owned()));
    }
    let reasons = frozen.reasons.clone();
    let source = if reasons.is_some() {
        "detected"
    } else {
        crate::plan::PLAN_FILE
    };
    let yaml = reasons.as_ref().map(|_| frozen.to_yaml());
    let Reasons {
        units,
        left_out,
        advice,
    } = reasons.unwrap_or_default();
    PlanOutline {
        source,
        steps,
        units,
        left_out,
        advice,
        yaml,
    }
}

/// A home and a place for temporary files, which go with this value.
struct Scratch(PathBuf);

impl Scratch {
    fn create() -> io::Result<Scratch> {
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|why| io::Error::other(why.to_string()))?;
        let name = format!("awo-verify-{}", hex::encode(random));
        let scratch = Scratch(std::env::temp_dir().join(name));
        let private = |dir: &Path| DirBuilder::new().mode(PRIVATE).create(dir);
        private(&scratch.0)?;
        private(&scratch.0.join("home"))?;
        private(&scratch.0.join("tmp"))?;
        Ok(scratch)
    }

    fn subject(&self, dir: &Path) -> Subject {
        Subject {
            dir: dir.to_owned(),
            home: self.0.join("home"),
            tmp: self.0.join("tmp"),
            request: self.0.join("inspection.json"),
            changed: None,
            gone_test_files: Vec::new(),
            tests_changed: Vec::new(),
            gate_changed: Vec::new(),
            only: None,
            prompt: None,
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system's cleaning of temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
