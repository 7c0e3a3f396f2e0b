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
    /// Tests that ran, of a check that is a test command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tests: Option<CheckTests>,
    /// The line that the report of a test command names for a test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub location: Option<CheckLocation>,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = VerificationCheckLocation)]
pub struct CheckLocation {
    /// The path of the file in the repository.
    pub path: String,
    /// The line, from 1.
    pub line: u64,
}

/// Longest path of a location, in bytes.
const MAX_PATH: usize = 500;

impl CheckLocation {
    /// The location with this path and line as a report has them; none if the path leaves the repository.
    #[must_use]
    pub fn parse(path: &str, line: &str) -> Option<CheckLocation> {
        let path = path.trim().trim_start_matches("./").replace('\\', "/");
        let line: u64 = line.trim().parse().ok()?;
        let is_within = !path.is_empty()
            && path.len() <= MAX_PATH
            && !path.starts_with('/')
            && !path.contains(':')
            && path.split('/').all(|name| name != ".." && !name.is_empty());
        (is_within && line > 0).then_some(CheckLocation { path, line })
    }
}

/// Number of tests by their outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestCounts {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that did not run.
    pub skipped: u64,
}

impl TestCounts {
    /// True if no test was counted.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == TestCounts::default()
    }

    /// Adds others.
    pub fn add(&mut self, other: TestCounts) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
    }
}

/// Tests of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = VerificationCheckTests)]
pub struct CheckTests {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that did not run.
    pub skipped: u64,
    /// Source of these numbers.
    pub source: TestSource,
}

impl CheckTests {
    /// The tests of a command that reports no number of them.
    pub const UNCOUNTED: CheckTests = CheckTests {
        passed: 0,
        failed: 0,
        skipped: 0,
        source: TestSource::ExitCode,
    };

    /// Counted tests.
    #[must_use]
    pub fn counted(counts: TestCounts, source: TestSource) -> CheckTests {
        CheckTests {
            passed: counts.passed,
            failed: counts.failed,
            skipped: counts.skipped,
            source,
        }
    }

    /// The numbers.
    #[must_use]
    pub fn counts(self) -> TestCounts {
        TestCounts {
            passed: self.passed,
            failed: self.failed,
            skipped: self.skipped,
        }
    }
}

/// Source of the number of a command's tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TestSource {
    /// The report that the command wrote.
    Report,
    /// The closing lines of its test runner.
    Summary,
    /// None: the command reports no number, and all numbers are 0.
    ExitCode,
}

/// Evidence that tests ran and passed; the order is from least to most.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schema(as = VerificationEvidence)]
pub enum Evidence {
    /// No test is known to have run and passed.
    #[default]
    None,
    /// A command that the plan names as a test passed by its exit code.
    ExitCode,
    /// At least one counted test passed.
    Counted,
}

impl Evidence {
    /// True if there is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Evidence::None
    }
}

/// The outcome of a run's last verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RunVerification)]
pub struct VerificationOutcome {
    /// The worst result.
    pub status: Status,
    /// Evidence that tests ran and passed.
    pub evidence: Evidence,
    /// Counted tests of all commands.
    pub tests: TestCounts,
}

impl VerificationOutcome {
    /// True if it passed, and tests are known to have run and passed.
    #[must_use]
    pub fn is_verified(self) -> bool {
        self.status.passes() && self.evidence > Evidence::None
    }
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

    #[test]
    fn a_location_stays_within_the_repository() {
        let parsed = |path: &str, line: &str| {
            CheckLocation::parse(path, line).map(|location| (location.path, location.line))
        };
        let expected = Some(("src/a.py".to_owned(), 7));
        assert_eq!(parsed("src/a.py", "7"), expected);
        assert_eq!(parsed("./src/a.py", " 7 "), expected);
        assert_eq!(parsed("src\\a.py", "7"), expected);
        for (path, line) in [
            ("/etc/passwd", "1"),
            ("../a.py", "1"),
            ("a/../../b", "1"),
            ("C:\\a.py", "1"),
            ("", "1"),
            ("a.py", "0"),
            ("a.py", "x"),
        ] {
            assert_eq!(parsed(path, line), None, "{path} {line}");
        }
    }
}
