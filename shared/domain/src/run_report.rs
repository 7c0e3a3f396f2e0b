//! Reports of runs to the forge of their repository: a check of the verified commit, and a comment on its pull request
//! or issue. They are posted after a run has ended, and never change it.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::profile::GitOps;
use crate::run::RunStatus;
use crate::verification::VerificationOutcome;

/// The name of the check where a profile sets none.
pub const CHECK_NAME: &str = "awo/verified";
/// Longest name of a check, in characters.
pub const MAX_CHECK_NAME: usize = 100;
/// Longest reason of a report that was not posted, in characters.
const MAX_REASON: usize = 500;

/// The check of a verified commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum CheckMode {
    /// None.
    #[default]
    Off,
    /// A Check Run where a GitHub App is connected, else a commit status.
    Check,
    /// A commit status.
    Status,
}

/// The comment on a pull request or an issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum CommentMode {
    /// None.
    #[default]
    Off,
    /// A single comment for each thread, which is edited.
    Sticky,
}

/// The check of a commit that passed although no test is known to have run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum UnverifiedMode {
    /// A failure.
    #[default]
    Fail,
    /// A neutral check; a status is a success that says so.
    Pass,
}

/// The kind of a report.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[schema(as = RunReportKind)]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum ReportKind {
    /// A Check Run where a GitHub App is connected, else a commit status.
    Check,
    /// A commit status.
    Status,
    /// A comment.
    Comment,
}

/// The state of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = RunReportState)]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum ReportState {
    /// The report is to be posted, or posted again.
    Pending,
    /// The forge has it.
    Posted,
    /// The forge refused it, or did not answer five times.
    Failed,
}

/// A report of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// The kind.
    pub kind: ReportKind,
    /// The state.
    pub state: ReportState,
    /// The address of its page, if the forge names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub url: Option<String>,
    /// The last fault, of a report that is not posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
}

impl RunReport {
    /// A report that is to be posted.
    #[must_use]
    pub fn pending(kind: ReportKind) -> RunReport {
        RunReport {
            kind,
            state: ReportState::Pending,
            url: None,
            reason: None,
        }
    }

    /// The report, not posted yet because of this fault.
    #[must_use]
    pub fn delayed(kind: ReportKind, reason: &str) -> RunReport {
        RunReport {
            reason: Some(reason.chars().take(MAX_REASON).collect()),
            ..RunReport::pending(kind)
        }
    }

    /// The report, given up because of this fault.
    #[must_use]
    pub fn failed(kind: ReportKind, reason: &str) -> RunReport {
        RunReport {
            state: ReportState::Failed,
            ..RunReport::delayed(kind, reason)
        }
    }

    /// The report, which the forge has.
    #[must_use]
    pub fn posted(kind: ReportKind, url: Option<String>) -> RunReport {
        RunReport {
            state: ReportState::Posted,
            url,
            ..RunReport::pending(kind)
        }
    }
}

impl GitOps {
    /// The kinds of reports that a profile asks for.
    #[must_use]
    pub fn reports(&self) -> Vec<ReportKind> {
        let check = match self.checks {
            CheckMode::Off => None,
            CheckMode::Check => Some(ReportKind::Check),
            CheckMode::Status => Some(ReportKind::Status),
        };
        let comment = match self.comment {
            CommentMode::Off => None,
            CommentMode::Sticky => Some(ReportKind::Comment),
        };
        check.into_iter().chain(comment).collect()
    }
}

/// The verdict of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckVerdict {
    /// The run has not ended.
    InProgress,
    /// Verified.
    Success,
    /// Passed, no test is known to have run, and the profile takes that for no failure.
    Neutral,
    /// Not verified.
    Failure,
    /// No verdict: the run was stopped, was lost or failed before one.
    Cancelled,
}

impl CheckVerdict {
    /// The verdict on a run in this status, with the outcome of its last verification.
    #[must_use]
    pub fn of(
        status: RunStatus,
        verification: Option<VerificationOutcome>,
        unverified: UnverifiedMode,
    ) -> CheckVerdict {
        let passed = verification.map(|outcome| outcome.status.passes());
        match (status, passed) {
            (RunStatus::Queued | RunStatus::Building | RunStatus::Running, _) => {
                CheckVerdict::InProgress
            }
            (RunStatus::Canceled, _) | (RunStatus::Failed, None | Some(true)) => {
                CheckVerdict::Cancelled
            }
            (RunStatus::Failed | RunStatus::Succeeded, Some(false)) => CheckVerdict::Failure,
            (RunStatus::Succeeded, _) => {
                match (
                    verification.is_some_and(VerificationOutcome::is_verified),
                    unverified,
                ) {
                    (true, _) => CheckVerdict::Success,
                    (false, UnverifiedMode::Pass) => CheckVerdict::Neutral,
                    (false, UnverifiedMode::Fail) => CheckVerdict::Failure,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verification::{Evidence, Status, TestCounts};

    fn outcome(status: Status, evidence: Evidence) -> Option<VerificationOutcome> {
        Some(VerificationOutcome {
            status,
            evidence,
            tests: TestCounts::default(),
        })
    }

    #[test]
    fn a_check_succeeds_only_for_a_verified_commit() {
        use CheckVerdict as V;
        use RunStatus as S;
        let green = outcome(Status::Passed, Evidence::Counted);
        let empty = outcome(Status::Passed, Evidence::None);
        let red = outcome(Status::Failed, Evidence::Counted);
        for (status, outcome, of_fail, of_pass) in [
            (S::Running, None, V::InProgress, V::InProgress),
            (S::Running, green, V::InProgress, V::InProgress),
            (S::Succeeded, green, V::Success, V::Success),
            (S::Succeeded, empty, V::Failure, V::Neutral),
            (S::Succeeded, None, V::Failure, V::Neutral),
            (S::Failed, red, V::Failure, V::Failure),
            (S::Failed, green, V::Cancelled, V::Cancelled),
            (S::Failed, None, V::Cancelled, V::Cancelled),
            (S::Canceled, green, V::Cancelled, V::Cancelled),
            (S::Canceled, red, V::Cancelled, V::Cancelled),
        ] {
            let verdict = |mode| CheckVerdict::of(status, outcome, mode);
            let both = (verdict(UnverifiedMode::Fail), verdict(UnverifiedMode::Pass));
            assert_eq!(both, (of_fail, of_pass), "{status:?} {outcome:?}");
        }
    }
}
