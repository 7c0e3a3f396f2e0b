//! The outcome of a verification, with the evidence for it.

use awo_domain::verification::{CombinedResult, Evidence, TestCounts, VerificationOutcome};

use super::MissingTool;

/// The outcome of a verification.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) result: CombinedResult,
    /// Evidence that tests ran and passed.
    pub(crate) evidence: Evidence,
    /// Counted tests of all commands.
    pub(crate) tests: TestCounts,
    /// A program of the plan that is not there.
    pub(crate) missing: Option<MissingTool>,
}

impl From<CombinedResult> for Judgement {
    fn from(result: CombinedResult) -> Judgement {
        Judgement {
            result,
            evidence: Evidence::None,
            tests: TestCounts::default(),
            missing: None,
        }
    }
}

impl Judgement {
    /// Status, evidence and tests.
    pub(crate) fn outcome(&self) -> VerificationOutcome {
        VerificationOutcome {
            status: self.result.overall_status,
            evidence: self.evidence,
            tests: self.tests,
        }
    }
}
