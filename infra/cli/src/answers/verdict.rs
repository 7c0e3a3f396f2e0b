//! Verdicts of verifications, as answers show them.

use awo_domain::run::RunStatus;
use serde::Deserialize;

/// The outcome of a run's last verification.
#[derive(Debug, Clone, Deserialize)]
pub struct Verification {
    #[serde(default)]
    pub evidence: String,
    #[serde(default)]
    pub tests: Option<Tests>,
}

impl Verification {
    /// `2 failed, 3 passed, 1 skipped`, or what else is the evidence; nothing if there is none.
    pub fn evidence(&self) -> Option<String> {
        let tests = self.tests.as_ref().and_then(Tests::words);
        let by_exit_code = (self.evidence == "exit-code").then(|| "by exit code".to_owned());
        tests.or(by_exit_code)
    }
}

/// Numbers of tests.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Tests {
    #[serde(default)]
    pub passed: u64,
    #[serde(default)]
    pub failed: u64,
    #[serde(default)]
    pub skipped: u64,
}

impl Tests {
    /// `2 failed, 3 passed, 1 skipped`; nothing if none is known.
    pub fn words(&self) -> Option<String> {
        let numbers = [
            (self.failed, "failed"),
            (self.passed, "passed"),
            (self.skipped, "skipped"),
        ];
        let words: Vec<String> = numbers
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, how)| format!("{count} {how}"))
            .collect();
        let plural = if words.len() == 1 && self.passed + self.failed + self.skipped == 1 {
            "test"
        } else {
            "tests"
        };
        (!words.is_empty()).then(|| format!("{plural}: {}", words.join(", ")))
    }
}

/// A remark about the result of a work order or a run.
pub fn verification(status: &str, verified: Option<bool>) -> Option<&'static str> {
    if verified.filter(|_| status == RunStatus::Succeeded.as_str())? {
        Some("verified")
    } else {
        Some("unverified")
    }
}
