//! The timeline of a run, as clients see it, in the order of commits.

mod data;
mod kind;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

pub use data::{
    CancelledData, CompletedData, FailedData, KillRequestedData, RunCharge, RunTiming, StartedData,
    StatusData, WaitingData,
};
pub use kind::{Payload, TimelineEventType};

use crate::Timestamp;
use crate::control::RunnerEvent;
use crate::money::MicroCredits;
use crate::pull_request::PullRequestUrl;
use crate::run::{Phase, RunError, RunFailure, RunStatus};
use crate::verification::VerificationOutcome;

/// One event of a run's timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelineEvent {
    /// From 1, without gaps, given when the event is committed.
    pub sequence: u64,
    /// `run.created`, `verification.failed` and the like.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was committed.
    pub timestamp: Timestamp,
    /// By type.
    pub data: Value,
}

impl TimelineEvent {
    /// True if it reports the run's end: a run has one such event.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        TimelineEventType::parse(&self.kind).is_some_and(TimelineEventType::is_terminal)
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnding {
    /// A terminal status.
    pub status: RunStatus,
    /// Iterations begun.
    pub iterations: u32,
    /// The URL of its pull request, if there is one.
    pub pr_url: Option<PullRequestUrl>,
    /// True if its result is verified; shown of one that succeeded.
    pub verified: bool,
    /// Outcome of its last verification, if there was one.
    pub verification: Option<VerificationOutcome>,
    /// Why it failed.
    pub error: Option<RunError>,
    /// When it got its slot.
    pub started_at: Timestamp,
    /// When it ended.
    pub completed_at: Timestamp,
    /// What it cost, in credits; of a canceled run that is not known yet.
    pub credits: MicroCredits,
    /// The reason of a client's stop, if it gave one.
    pub reason: Option<String>,
}

impl RunEnding {
    /// Type and data of the event, as the timeline shows them.
    fn to_parts(&self) -> (TimelineEventType, Value) {
        let (status, iterations) = (self.status, self.iterations);
        let (pr_url, reason) = (self.pr_url.as_ref(), self.reason.as_deref());
        let timing = RunTiming::of(self.started_at, self.completed_at);
        let cost = RunCharge {
            credits: self.credits,
        };
        match status {
            RunStatus::Succeeded => {
                let data = CompletedData {
                    status,
                    iterations,
                    verified: self.verified,
                    verification: self.verification,
                    timing,
                    cost,
                    pr_url,
                };
                (TimelineEventType::RunCompleted, json!(data))
            }
            RunStatus::Canceled => {
                let data = CancelledData {
                    status,
                    iterations,
                    reason,
                };
                (TimelineEventType::RunCancelled, json!(data))
            }
            _ => {
                let data = FailedData {
                    status,
                    iterations,
                    timing,
                    cost,
                    error: self.error.as_ref().map(RunFailure::from),
                    reason,
                    pr_url,
                };
                (TimelineEventType::RunFailed, json!(data))
            }
        }
    }
}

/// The transitions of a run itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Lifecycle {
    /// The run exists and waits.
    Created,
    /// It has a slot.
    Building,
    /// There was no compute for it, and it waits in the queue again.
    NoCapacity,
    /// Its agent runs.
    Started {
        /// When it got its slot.
        started_at: Timestamp,
    },
    /// It ended.
    Ended(RunEnding),
    /// It has left its compute until its children have ended.
    Waiting {
        /// Iterations begun.
        iterations: u32,
    },
    /// It has compute again: what its children have done is brought together.
    Integrating,
    /// A client wants its processes dead.
    KillRequested {
        /// From SIGTERM to SIGKILL.
        grace_period_ms: u64,
        /// SIGKILL at once.
        immediate: bool,
        /// In the client's words.
        reason: Option<String>,
    },
}

impl Lifecycle {
    /// Type and data as the timeline shows them.
    #[must_use]
    pub fn to_parts(&self) -> (TimelineEventType, Value) {
        use TimelineEventType as T;
        let status = |status| json!(StatusData { status });
        match self {
            Lifecycle::Created => (T::RunCreated, status(RunStatus::Queued)),
            Lifecycle::NoCapacity => (T::RunNoCapacity, status(RunStatus::Queued)),
            Lifecycle::Building => (T::RunBuilding, status(RunStatus::Building)),
            Lifecycle::Integrating => (T::RunIntegrating, status(RunStatus::Running)),
            Lifecycle::Started { started_at } => {
                let data = StartedData {
                    status: RunStatus::Running,
                    started_at: *started_at,
                };
                (T::RunStarted, json!(data))
            }
            Lifecycle::Ended(ending) => ending.to_parts(),
            Lifecycle::Waiting { iterations } => {
                let data = WaitingData {
                    status: RunStatus::Running,
                    iterations: *iterations,
                };
                (T::RunWaiting, json!(data))
            }
            Lifecycle::KillRequested {
                grace_period_ms,
                immediate,
                reason,
            } => {
                let data = KillRequestedData {
                    grace_period_ms: *grace_period_ms,
                    immediate: *immediate,
                    reason: reason.as_deref(),
                };
                (T::RunKillRequested, json!(data))
            }
        }
    }
}

/// What a runner's event means for the run and its timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    /// The timeline's type.
    pub kind: TimelineEventType,
    /// The timeline's data.
    pub data: Value,
    /// The phase it begins.
    pub phase: Option<Phase>,
    /// The iteration it belongs to.
    pub iteration: Option<u32>,
}

/// Reads a runner's event: its own fields become the data, its type the public type.
#[must_use]
pub fn meaning(event: &RunnerEvent) -> Meaning {
    let mut data = json!(event);
    if let Some(fields) = data.as_object_mut() {
        fields.remove("type");
    }
    if let RunnerEvent::AgentFinished { usage, .. } = event {
        // Counts alone: the run has their cost.
        data["usage"] = usage.iter().map(|one| json!(one.usage)).collect();
    }
    use TimelineEventType as T;
    let (kind, phase, iteration) = match event {
        RunnerEvent::WorkspaceReady { .. } => (T::WorkspaceReady, None, None),
        RunnerEvent::FollowupReady { .. } => (T::FollowupReady, None, None),
        RunnerEvent::CredentialsIssued { .. } => (T::CredentialsIssued, None, None),
        RunnerEvent::EnvironmentReady { .. } => (T::EnvironmentReady, None, None),
        RunnerEvent::EnvironmentStep { .. } => (T::EnvironmentStep, None, None),
        RunnerEvent::IterationStarted { iteration } => {
            (T::IterationStarted, Some(Phase::Agent), Some(*iteration))
        }
        RunnerEvent::AgentOutput { iteration, .. } => (T::AgentOutput, None, Some(*iteration)),
        RunnerEvent::ProviderWaiting { iteration, .. } => (
            T::ProviderWaiting,
            Some(Phase::WaitingForProvider),
            Some(*iteration),
        ),
        RunnerEvent::ProviderResumed { iteration } => {
            (T::ProviderResumed, Some(Phase::Agent), Some(*iteration))
        }
        RunnerEvent::AgentFinished { iteration, .. } => (T::AgentFinished, None, Some(*iteration)),
        RunnerEvent::Committed { iteration, .. } => (T::IterationCommitted, None, Some(*iteration)),
        RunnerEvent::ChildrenRefused { iteration, .. } => {
            (T::ChildrenRefused, None, Some(*iteration))
        }
        RunnerEvent::ProtectedRestored { iteration, .. } => {
            (T::ProtectedRestored, None, Some(*iteration))
        }
        RunnerEvent::BaselineFinished { .. } => (T::VerificationBaseline, None, None),
        RunnerEvent::IntegrationStarted { .. } => {
            (T::IntegrationStarted, Some(Phase::Integrating), None)
        }
        RunnerEvent::ChildMerged { .. } => (T::IntegrationMerged, None, None),
        RunnerEvent::MergeConflict { .. } => (T::IntegrationConflict, None, None),
        RunnerEvent::VerificationStarted { iteration, .. } => (
            T::VerificationStarted,
            Some(Phase::Verifying),
            Some(*iteration),
        ),
        RunnerEvent::VerificationFinished {
            iteration,
            overall_status,
            ..
        } => {
            let kind = if overall_status.passes() {
                T::VerificationPassed
            } else {
                T::VerificationFailed
            };
            (kind, None, Some(*iteration))
        }
        RunnerEvent::DeliveryStarted {} => (T::DeliveryStarted, Some(Phase::Delivering), None),
        RunnerEvent::Delivered { .. } => (T::DeliveryFinished, None, None),
        RunnerEvent::DeliverySkipped { .. } => (T::DeliverySkipped, None, None),
    };
    Meaning {
        kind,
        data,
        phase,
        iteration,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_of_an_end_and_no_other_is_terminal() {
        let at = Timestamp::from_epoch_ms(0);
        let is_terminal = |lifecycle: Lifecycle| {
            let (kind, data) = lifecycle.to_parts();
            let event = TimelineEvent {
                sequence: 1,
                kind: kind.as_str().to_owned(),
                timestamp: at,
                data,
            };
            event.is_terminal()
        };
        for status in RunStatus::ALL.into_iter().filter(|s| s.is_terminal()) {
            assert!(is_terminal(Lifecycle::Ended(RunEnding {
                status,
                iterations: 1,
                pr_url: None,
                verified: true,
                verification: None,
                error: None,
                started_at: at,
                completed_at: at,
                credits: crate::money::MicroCredits::from_credits(1),
                reason: None,
            })));
        }
        for other in [
            Lifecycle::Created,
            Lifecycle::Building,
            Lifecycle::Started { started_at: at },
            Lifecycle::Waiting { iterations: 1 },
            Lifecycle::Integrating,
            Lifecycle::KillRequested {
                grace_period_ms: 0,
                immediate: true,
                reason: None,
            },
        ] {
            assert!(!is_terminal(other));
        }
    }
}
