//! Runs: each is one execution attempt of a work order, with its only possible transitions.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::names::variants;

pub use error::{ErrorCategory, MAX_ERROR_MESSAGE, RunError, RunErrorCode, RunFailure};

mod error;

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum RunStatus {
    /// Waits for a slot.
    Queued,
    /// Has a slot; its workspace is being prepared.
    Building,
    /// Its agent works, or its result is verified or delivered.
    Running,
    /// Verified and delivered.
    Succeeded,
    /// Ended without success.
    Failed,
    /// Stopped by a client.
    Canceled,
}

impl RunStatus {
    /// True when nothing can change it any more.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            RunStatus::Succeeded | RunStatus::Failed | RunStatus::Canceled
        )
    }

    /// The status after `event`, or none if the event cannot happen to a run in this status.
    #[must_use]
    pub fn after(self, event: RunEvent) -> Option<RunStatus> {
        use RunEvent as E;
        use RunStatus as S;
        match (self, event) {
            (S::Queued, E::SlotTaken) => Some(S::Building),
            (S::Building, E::AgentStarted) => Some(S::Running),
            (S::Building, E::NoCapacity) => Some(S::Queued),
            (S::Running, E::Succeeded) => Some(S::Succeeded),
            (S::Building | S::Running, E::Failed) => Some(S::Failed),
            (S::Queued | S::Building | S::Running, E::Canceled) => Some(S::Canceled),
            (S::Queued, E::AgentStarted | E::NoCapacity | E::Succeeded | E::Failed)
            | (S::Building, E::SlotTaken | E::Succeeded)
            | (S::Running, E::SlotTaken | E::AgentStarted | E::NoCapacity)
            | (
                S::Succeeded | S::Failed | S::Canceled,
                E::SlotTaken
                | E::AgentStarted
                | E::NoCapacity
                | E::Succeeded
                | E::Failed
                | E::Canceled,
            ) => None,
        }
    }
}

/// What can happen to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, VariantArray)]
pub enum RunEvent {
    /// The dispatcher gave it a slot.
    SlotTaken,
    /// There was no compute for it, and it gave its slot back.
    NoCapacity,
    /// Its agent started for the first time.
    AgentStarted,
    /// The runner finished with success.
    Succeeded,
    /// The runner finished without success, or its compute was lost.
    Failed,
    /// A client stopped it.
    Canceled,
}

impl RunEvent {
    /// Every event.
    pub const ALL: [RunEvent; RunEvent::VARIANTS.len()] = variants();
}

/// The phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = RunPhase)]
pub enum Phase {
    /// Clone and plan.
    Building,
    /// The agent works.
    Agent,
    /// The provider of its models does not answer; compute costs nothing.
    #[serde(rename = "waiting_for_provider")]
    WaitingForProvider,
    /// Its work is judged.
    Verifying,
    /// Children's branches are merged.
    Integrating,
    /// The result is pushed.
    Delivering,
}

/// The cause of a run's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Verified and delivered.
    Succeeded,
    /// Without success.
    Failed(RunError),
    /// Stopped by a client.
    Canceled,
}

impl RunEnd {
    /// The move that it is.
    #[must_use]
    pub fn event(&self) -> RunEvent {
        match self {
            RunEnd::Succeeded => RunEvent::Succeeded,
            RunEnd::Failed(_) => RunEvent::Failed,
            RunEnd::Canceled => RunEvent::Canceled,
        }
    }

    /// True if what the run used is known only once its compute is gone: a run that a client
    /// stopped is over first and settled then.
    #[must_use]
    pub fn is_settled_later(&self) -> bool {
        match self {
            RunEnd::Succeeded => false,
            RunEnd::Failed(error) => error.code == RunErrorCode::Killed,
            RunEnd::Canceled => true,
        }
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&RunError> {
        match self {
            RunEnd::Failed(error) => Some(error),
            RunEnd::Succeeded | RunEnd::Canceled => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_listed_transitions_are_possible() {
        use RunEvent as E;
        use RunStatus as S;
        let legal = [
            (S::Queued, E::SlotTaken, S::Building),
            (S::Queued, E::Canceled, S::Canceled),
            (S::Building, E::AgentStarted, S::Running),
            (S::Building, E::NoCapacity, S::Queued),
            (S::Building, E::Failed, S::Failed),
            (S::Building, E::Canceled, S::Canceled),
            (S::Running, E::Succeeded, S::Succeeded),
            (S::Running, E::Failed, S::Failed),
            (S::Running, E::Canceled, S::Canceled),
        ];
        for from in S::ALL {
            for event in E::ALL {
                let wanted = legal
                    .iter()
                    .find(|(f, e, _)| (*f, *e) == (from, event))
                    .map(|(_, _, to)| *to);
                assert_eq!(from.after(event), wanted, "{from:?} {event:?}");
                assert!(wanted.is_none() || !from.is_terminal());
            }
        }
    }

    #[test]
    fn wire_names_are_the_serde_names() {
        for status in RunStatus::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
            assert_eq!(RunStatus::parse(status.as_str()), Some(status));
        }
    }
}
