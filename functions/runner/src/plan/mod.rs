//! The plan of verification: the checks, and the files that an agent cannot change.
//!
//! A plan is read once, at the base commit, and then used from memory. An agent that edits
//! `verify.yaml`, a manifest's test command or a protected file does not change how its work is
//! judged.

mod bounds;
mod detected;
mod needs;
mod types;
mod values;
mod writing;

use std::path::{Path, PathBuf};

use awo_domain::run::MAX_ERROR_MESSAGE;
use serde::{Deserialize, Serialize};

use crate::repository::{Change, ChangeKind};
use crate::safe_files::{self, Unreadable};
use crate::toolchains::{Manifest, Program, can_switch_off, is_test_file};
use crate::verify::every_file;

pub(crate) use detected::Reasons;
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
                Ok(FrozenPlan {
                    unmatched: unmatched(&plan, files),
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

    /// True for a change of what decides how the run's work is tested: of a test file of the base,
    /// and, where the plan was detected, of what can switch tests off, also if it is new.
    pub(crate) fn is_test_change(&self, change: &Change) -> bool {
        let is_new = change.kind == ChangeKind::Added;
        let is_test = !is_new && is_test_file(&change.path);
        is_test || (self.keeps_test_files && can_switch_off(&change.path))
    }
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
