//! What the events of a run's own transitions carry. Its members, and those that every event of a
//! run has besides, are the `data` of an event.

use serde::Serialize;
use utoipa::ToSchema;

use crate::Timestamp;
use crate::money::MicroCredits;
use crate::pull_request::PullRequestUrl;
use crate::run::{RunFailure, RunStatus};
use crate::verification::VerificationOutcome;

/// Data of an event that has only the run's status.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatusData {
    /// The run's status now.
    pub status: RunStatus,
}

/// Data of `run.started`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartedData {
    /// The run's status now: `running`.
    pub status: RunStatus,
    /// When the run got its slot.
    pub started_at: Timestamp,
}

/// Data of `run.waiting`.
#[derive(Debug, Serialize, ToSchema)]
pub struct WaitingData {
    /// The run's status now: `running`.
    pub status: RunStatus,
    /// How many iterations have begun.
    pub iterations: u32,
}

/// Data of `run.kill_requested`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KillRequestedData<'a> {
    /// From SIGTERM to SIGKILL, in milliseconds.
    pub grace_period_ms: u64,
    /// True if SIGKILL is sent at once.
    pub immediate: bool,
    /// The reason that the client gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
}

/// When a run began and ended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunTiming {
    /// When it got its slot.
    pub started_at: Timestamp,
    /// When it ended.
    pub completed_at: Timestamp,
    /// The time between, in milliseconds.
    pub duration_ms: i64,
}

impl RunTiming {
    pub(super) fn of(started_at: Timestamp, completed_at: Timestamp) -> RunTiming {
        RunTiming {
            started_at,
            completed_at,
            duration_ms: completed_at.ms_since(started_at),
        }
    }
}

/// The charge of a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunCharge {
    /// In credits.
    pub credits: MicroCredits,
}

/// Data of `run.completed`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompletedData<'a> {
    /// The run's status: `succeeded`.
    pub status: RunStatus,
    /// How many iterations began.
    pub iterations: u32,
    /// True if tests are known to have run and passed.
    pub verified: bool,
    /// Outcome of its last verification, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub verification: Option<VerificationOutcome>,
    /// When it began and ended.
    pub timing: RunTiming,
    /// Its charge.
    pub cost: RunCharge,
    /// The pull request of its result, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub pr_url: Option<&'a PullRequestUrl>,
}

/// Data of `run.failed`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedData<'a> {
    /// The run's status: `failed`.
    pub status: RunStatus,
    /// How many iterations began.
    pub iterations: u32,
    /// When it began and ended.
    pub timing: RunTiming,
    /// Its charge.
    pub cost: RunCharge,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunFailure<'a>>,
    /// The reason that the client gave, if a client's kill ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// The pull request that was opened before it failed, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub pr_url: Option<&'a PullRequestUrl>,
}

/// Data of `run.cancelled`. What the run cost is not known yet.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelledData<'a> {
    /// The run's status: `canceled`, with one l.
    pub status: RunStatus,
    /// How many iterations began.
    pub iterations: u32,
    /// The client's reason, if it gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
}
