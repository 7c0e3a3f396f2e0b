//! Results of verification: checks, plugin results and their total.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A level of verification; lower levels gate the higher ones, `custom` runs last.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[schema(as = VerificationLevel)]
pub enum Level {
    /// Contracts: linting, type checking, required files.
    L0,
    /// Tests.
    L1,
    /// Blackbox: functional and integration tests.
    L2,
    /// Sanity: structural validation, coverage.
    L3,
    /// Custom plugins.
    #[serde(rename = "custom")]
    Custom,
}

/// The outcome of a check, a plugin or a whole verification. The order is from best to worst
/// of those that count; `skipped` never decides anything.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[schema(as = CheckStatus)]
pub enum Status {
    /// Was not run.
    Skipped,
    /// Holds.
    Passed,
    /// Worth a review; passes.
    Warning,
    /// Does not hold.
    Failed,
    /// Could not be judged: the check itself broke or ran out of time.
    Error,
}

impl Status {
    /// True if an iteration with this status may succeed.
    #[must_use]
    pub fn passes(self) -> bool {
        matches!(self, Status::Passed | Status::Warning | Status::Skipped)
    }

    /// The worst of several; a verification in which nothing was applicable is a warning.
    #[must_use]
    pub fn worst(all: impl IntoIterator<Item = Status>) -> Status {
        match all.into_iter().max() {
            None | Some(Status::Skipped) => Status::Warning,
            Some(worst) => worst,
        }
    }
}

/// One named check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = VerificationCheck)]
pub struct Check {
    /// The name of the check, such as a test's name.
    pub name: String,
    /// How it ended.
    pub status: Status,
    /// Details for a person or an agent.
    pub message: String,
}

/// The findings of one plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = VerificationPluginResult)]
pub struct PluginResult {
    /// `built-in:tests` and the like.
    pub plugin_id: String,
    /// The worst of its checks.
    pub status: Status,
    /// Its level.
    pub level: Level,
    /// One sentence.
    pub summary: String,
    /// Its checks, in the order they ran.
    pub checks: Vec<Check>,
    /// Wall time.
    pub duration_ms: u64,
}

impl PluginResult {
    /// True if a lower level kept it from running.
    #[must_use]
    pub fn is_not_run(&self) -> bool {
        self.status == Status::Skipped && self.checks.is_empty()
    }
}

/// The whole verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CombinedResult {
    /// The worst of the results.
    pub overall_status: Status,
    /// By plugin, in level order.
    pub results: Vec<PluginResult>,
    /// One sentence.
    pub summary: String,
    /// Wall time.
    pub duration_ms: u64,
}

/// Most names in each list of a comparison.
pub const MAX_COMPARED: usize = 50;

/// Failures of a verification, by whether the base commit has them. A check that could not be judged
/// on either side is in no list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BaselineComparison {
    /// The base commit.
    pub base_commit: String,
    /// Failing checks that fail on the base, too; at most 50.
    pub pre_existing: Vec<String>,
    /// Failing checks that the base passes or does not have; at most 50.
    pub introduced: Vec<String>,
    /// Checks that fail on the base and pass now; at most 50, and only with `baseline: "eager"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<String>,
    /// True if every failing check fails on the base, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_pre_existing: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_status_decides_and_nothing_applicable_is_a_warning() {
        use Status::*;
        assert_eq!(Status::worst([Passed, Error, Failed]), Error);
        assert_eq!(Status::worst([Passed, Skipped, Failed]), Failed);
        assert_eq!(Status::worst([Passed, Warning]), Warning);
        assert_eq!(Status::worst([Skipped, Passed]), Passed);
        assert_eq!(Status::worst([Skipped]), Warning);
        assert_eq!(Status::worst([]), Warning);
        assert!(Warning.passes() && !Failed.passes() && !Error.passes());
    }
}
