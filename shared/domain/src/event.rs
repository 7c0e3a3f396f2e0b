//! The timeline of a run, as clients see it, in the order of commits.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::Timestamp;
use crate::control::RunnerEvent;
use crate::pull_request::PullRequestUrl;
use crate::run::{Phase, RunError, RunStatus};

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
    /// True if it tells the run's end: a run has one such event.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(
            self.kind.as_str(),
            "run.completed" | "run.failed" | "run.cancelled"
        )
    }
}

/// The moves of a run itself.
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
    Ended {
        /// A terminal status.
        status: RunStatus,
        /// Iterations begun.
        iterations: u32,
        /// Where its pull request is, if there is one.
        pr_url: Option<PullRequestUrl>,
        /// True if its result was verified by a check of the plan; told of one that succeeded.
        verified: bool,
        /// Why it failed.
        error: Option<RunError>,
        /// When it got its slot.
        started_at: Timestamp,
        /// When it ended.
        completed_at: Timestamp,
        /// What it cost, in credits; of a canceled run that is not known yet.
        credits: crate::money::MicroCredits,
        /// Why a client stopped it, if one did and said so.
        reason: Option<String>,
    },
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
    pub fn to_parts(&self) -> (&'static str, Value) {
        match self {
            Lifecycle::Created => ("run.created", json!({ "status": RunStatus::Queued })),
            Lifecycle::NoCapacity => ("run.no_capacity", json!({ "status": RunStatus::Queued })),
            Lifecycle::Building => ("run.building", json!({ "status": RunStatus::Building })),
            Lifecycle::Started { started_at } => (
                "run.started",
                json!({ "status": RunStatus::Running, "startedAt": started_at }),
            ),
            Lifecycle::Ended {
                status,
                iterations,
                pr_url,
                verified,
                error,
                started_at,
                completed_at,
                credits,
                reason,
            } => {
                let mut data = json!({ "status": status, "iterations": iterations });
                if *status == RunStatus::Succeeded {
                    data["verified"] = json!(verified);
                }
                if *status != RunStatus::Canceled {
                    data["timing"] = json!({
                        "startedAt": started_at,
                        "completedAt": completed_at,
                        "durationMs": completed_at.ms_since(*started_at),
                    });
                    data["cost"] = json!({ "credits": credits });
                }
                if let Some(pr_url) = pr_url {
                    data["prUrl"] = json!(pr_url);
                }
                if let Some(error) = error {
                    data["error"] = json!(error);
                }
                if let Some(reason) = reason {
                    data["reason"] = json!(reason);
                }
                let kind = match status {
                    RunStatus::Succeeded => "run.completed",
                    RunStatus::Canceled => "run.cancelled",
                    _ => "run.failed",
                };
                (kind, data)
            }
            Lifecycle::Waiting { iterations } => (
                "run.waiting",
                json!({ "status": RunStatus::Running, "iterations": iterations }),
            ),
            Lifecycle::Integrating => ("run.integrating", json!({ "status": RunStatus::Running })),
            Lifecycle::KillRequested {
                grace_period_ms,
                immediate,
                reason,
            } => {
                let mut data = json!({ "gracePeriodMs": grace_period_ms, "immediate": immediate });
                if let Some(reason) = reason {
                    data["reason"] = json!(reason);
                }
                ("run.kill_requested", data)
            }
        }
    }
}

/// What a runner's event means for the run and its timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    /// The timeline's type.
    pub kind: &'static str,
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
        // Counts alone: what they cost is the run's to say.
        data["usage"] = usage.iter().map(|one| json!(one.usage)).collect();
    }
    let (kind, phase, iteration) = match event {
        RunnerEvent::WorkspaceReady { .. } => ("workspace.ready", None, None),
        RunnerEvent::IterationStarted { iteration } => {
            ("iteration.started", Some(Phase::Agent), Some(*iteration))
        }
        RunnerEvent::AgentOutput { iteration, .. } => ("agent.output", None, Some(*iteration)),
        RunnerEvent::AgentFinished { iteration, .. } => ("agent.finished", None, Some(*iteration)),
        RunnerEvent::Committed { iteration, .. } => ("iteration.committed", None, Some(*iteration)),
        RunnerEvent::ChildrenRefused { iteration, .. } => {
            ("children.refused", None, Some(*iteration))
        }
        RunnerEvent::ProtectedRestored { iteration, .. } => {
            ("protected.restored", None, Some(*iteration))
        }
        RunnerEvent::BaselineFinished { .. } => ("verification.baseline", None, None),
        RunnerEvent::IntegrationStarted { .. } => {
            ("integration.started", Some(Phase::Integrating), None)
        }
        RunnerEvent::ChildMerged { .. } => ("integration.merged", None, None),
        RunnerEvent::MergeConflict { .. } => ("integration.conflict", None, None),
        RunnerEvent::VerificationStarted { iteration, .. } => (
            "verification.started",
            Some(Phase::Verifying),
            Some(*iteration),
        ),
        RunnerEvent::VerificationFinished {
            iteration,
            overall_status,
            ..
        } => {
            let kind = if overall_status.passes() {
                "verification.passed"
            } else {
                "verification.failed"
            };
            (kind, None, Some(*iteration))
        }
        RunnerEvent::DeliveryStarted {} => ("delivery.started", Some(Phase::Delivering), None),
        RunnerEvent::Delivered { .. } => ("delivery.finished", None, None),
        RunnerEvent::DeliverySkipped { .. } => ("delivery.skipped", None, None),
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
                kind: kind.to_owned(),
                timestamp: at,
                data,
            };
            event.is_terminal()
        };
        for status in RunStatus::ALL.into_iter().filter(|s| s.is_terminal()) {
            assert!(is_terminal(Lifecycle::Ended {
                status,
                iterations: 1,
                pr_url: None,
                verified: true,
                error: None,
                started_at: at,
                completed_at: at,
                credits: crate::money::MicroCredits::from_credits(1),
                reason: None,
            }));
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
