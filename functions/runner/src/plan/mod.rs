//! The plan of verification: the checks, and the files that an agent cannot change.
//!
//! A plan is read once, at the base commit, and then used from memory. An agent that edits
//! `verify.yaml`, a manifest's test command or a protected file does not change how its work is
//! judged.

mod bounds;
mod detected;
mod executed;
mod narrowed;
mod needs;
mod types;
mod values;
mod writing;

use std::path::{Path, PathBuf};

use awo_domain::run::MAX_ERROR_MESSAGE;
use serde::{Deserialize, Serialize};

use crate::repository::{Change, ChangeKind};
use crate::safe_files::{self, Unreadable};
use crate::toolchains::gates::{self, Class};
use crate::toolchains::{Manifest, Program, is_test_file};
use crate::verify::every_file;

pub(crate) use detected::Reasons;
pub(crate) use narrowed::SET_UP;
pub(crate) use needs::ordered;
pub(crate) use types::{
    Blackbox, Command, Coverage, CoverageFormat, Expect, Plan, Schema, SchemaCheck, TestReport,
    TestReportFormat,
};
pub(crate) use values::{Glob, matching};

/// The plan's name in a repository.
pub(crate) const PLAN_FILE: &str = "verify.yaml";
/// Largest plan that is read.
const MAX_PLAN_BYTES: u64 = 262_144;

/// Installation of what a unit needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Installation {
    pub(crate) command: Command,
    /// Folder of the checkout that it fills, if it does.
    pub(crate) fills: Option<String>,
}

/// A plan that will not change any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FrozenPlan {
    pub(crate) plan: Plan,
    /// Installations, one for each unit that has any; only in a detected plan.
    pub(crate) install: Vec<Installation>,
    /// Programs without which its commands cannot run; only in a detected plan.
    pub(crate) programs: Vec<Program>,
    /// Manifests whose commands are put back; only in a detected plan.
    pub(crate) manifests: Vec<Manifest>,
    /// Folders of its units; only the top where it was not detected.
    pub(crate) units: Vec<String>,
    /// Scripts of the base that its commands run, one by the other.
    pub(crate) scripts: Vec<String>,
    /// Protected patterns that no file of the base matches.
    pub(crate) unmatched: Vec<String>,
    /// True if a test file of the base must not be gone; only in a detected plan.
    pub(crate) keeps_test_files: bool,
    /// Reasons of a detected plan.
    pub(crate) reasons: Option<Reasons>,
}

impl FrozenPlan {
    /// The plan that stands in `dir`, or else what its manifests suggest.
    ///
    /// # Errors
    /// A sentence that names the fault of `verify.yaml` and its place.
    pub(crate) fn of(dir: &Path) -> Result<FrozenPlan, String> {
        match safe_files::read(&dir.join(PLAN_FILE), MAX_PLAN_BYTES) {
            Ok(bytes) => {
                let files = || every_file(dir).unwrap_or_default();
                let plan = Plan::parse_for(&bytes, files).map_err(fault)?;
                let units = vec![String::new()];
                Ok(FrozenPlan {
                    unmatched: unmatched(&plan, files),
                    scripts: executed::scripts(dir, &plan, &units),
                    units,
                    plan,
                    install: Vec::new(),
                    programs: Vec::new(),
                    manifests: Vec::new(),
                    keeps_test_files: false,
                    reasons: None,
                })
            }
            Err(Unreadable::Missing) => Ok(detected::detect(dir)),
            Err(why) => Err(fault(why.to_string())),
        }
    }
}

impl FrozenPlan {
    /// Commands that install what the plan's commands need.
    pub(crate) fn installs(&self) -> Vec<Command> {
        let all = self.install.iter();
        all.map(|one| one.command.clone()).collect()
    }

    /// The same, without those whose folder is filled in the workspace `dir`.
    pub(crate) fn open_installs(&self, dir: &Path) -> Vec<Command> {
        let is_open = |one: &&Installation| {
            let fills = one.fills.as_ref();
            fills.is_none_or(|path| safe_files::metadata_within(dir, Path::new(path)).is_err())
        };
        let open = self.install.iter().filter(is_open);
        open.map(|one| one.command.clone()).collect()
    }

    /// Advice where nothing could be derived.
    pub(crate) fn advice(&self) -> Option<&str> {
        self.reasons.as_ref()?.advice.as_deref()
    }

    /// Classifies a change by what it means to the plan's commands.
    pub(crate) fn gate_class(&self, change: &Change) -> Class {
        let path = change.path.as_path();
        let is_script = || self.scripts.iter().any(|script| path == Path::new(script));
        if path == Path::new(PLAN_FILE) || is_script() {
            return Class::Decisive;
        }
        let is_new = change.kind == ChangeKind::Added;
        gates::class(gates::Change { path, is_new }, &self.units)
    }
}

/// True for a change of a test file of the base.
pub(crate) fn is_test_change(change: &Change) -> bool {
    change.kind != ChangeKind::Added && is_test_file(&change.path)
}

/// Protected patterns without a file.
fn unmatched(plan: &Plan, files: impl Fn() -> Vec<PathBuf>) -> Vec<String> {
    let Some(globs) = plan.protected().filter(|globs| !globs.is_empty()) else {
        return Vec::new();
    };
    let files = files();
    let is_unmatched = |glob: &&Glob| matching(std::slice::from_ref(*glob), &files).is_empty();
    globs.iter().filter(is_unmatched).map(Glob::shown).collect()
}

fn fault(why: String) -> String {
    let why: String = why.chars().take(MAX_ERROR_MESSAGE / 2).collect();
    format!("{PLAN_FILE}: {why}")
}
