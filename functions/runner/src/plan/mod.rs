//! The plan of verification: the checks, and the files that an agent cannot change.
//!
//! A plan is read once, at the base commit, and then used from memory. An agent that edits
//! `verify.yaml`, a manifest's test command or a protected file does not change how its work is
//! judged.

mod bounds;
mod detected;
mod makefile;
mod python;
mod types;
mod values;

use std::path::Path;

use awo_domain::run::MAX_ERROR_MESSAGE;
use serde::{Deserialize, Serialize};

use crate::repository::{Change, ChangeKind};
use crate::safe_files::{self, Unreadable};

pub(crate) use detected::Manifest;
use detected::{can_switch_off, is_test_file};
pub(crate) use types::{
    Blackbox, Command, Coverage, CoverageFormat, Expect, Plan, Schema, SchemaCheck, TestReport,
    TestReportFormat,
};
pub(crate) use values::{Glob, matching};

/// What stands before a sentence for people in the output of a detected plan's command.
pub(crate) const ADVICE: &str = "awo: ";
/// The plan's name in a repository.
pub(crate) const PLAN_FILE: &str = "verify.yaml";
/// Largest plan and largest manifest that are read.
const MAX_PLAN_BYTES: u64 = 262_144;

/// A plan that will not change any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FrozenPlan {
    pub(crate) plan: Plan,
    /// Manifests whose commands are put back; only in a detected plan.
    pub(crate) manifests: Vec<Manifest>,
    /// True if a test file of the base must not be gone; only in a detected plan.
    pub(crate) keeps_test_files: bool,
}

impl FrozenPlan {
    /// The plan that stands in `dir`, or else what its manifests suggest.
    ///
    /// # Errors
    /// A sentence that names the fault of `verify.yaml` and its place.
    pub(crate) fn of(dir: &Path) -> Result<FrozenPlan, String> {
        match safe_files::read(&dir.join(PLAN_FILE), MAX_PLAN_BYTES) {
            Ok(bytes) => Ok(FrozenPlan {
                plan: Plan::parse(&bytes).map_err(fault)?,
                manifests: Vec::new(),
                keeps_test_files: false,
            }),
            Err(Unreadable::Missing) => Ok(detected::detect(dir)),
            Err(why) => Err(fault(why.to_string())),
        }
    }
}

impl FrozenPlan {
    /// True for a change of what decides how the run's work is tested: of a test file of the base,
    /// and, where the plan was detected, of what can switch tests off, also if it is new.
    pub(crate) fn is_test_change(&self, change: &Change) -> bool {
        let is_new = change.kind == ChangeKind::Added;
        let is_test = !is_new && is_test_file(&change.path);
        is_test || (self.keeps_test_files && can_switch_off(&change.path))
    }
}

fn fault(why: String) -> String {
    let why: String = why.chars().take(MAX_ERROR_MESSAGE / 2).collect();
    format!("{PLAN_FILE}: {why}")
}
