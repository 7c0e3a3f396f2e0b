//! The types of a timeline's events: their names on the wire, and what each of them means.

/// The type of an event of a run's timeline. Types may be added; clients ignore those that they do
/// not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimelineEventType {
    /// `run.created`
    RunCreated,
    /// `run.building`
    RunBuilding,
    /// `run.no_capacity`
    RunNoCapacity,
    /// `run.started`
    RunStarted,
    /// `run.waiting`
    RunWaiting,
    /// `run.integrating`
    RunIntegrating,
    /// `run.kill_requested`
    RunKillRequested,
    /// `run.completed`
    RunCompleted,
    /// `run.failed`
    RunFailed,
    /// `run.cancelled`
    RunCancelled,
    /// `workspace.ready`
    WorkspaceReady,
    /// `followup.ready`
    FollowupReady,
    /// `credentials.issued`
    CredentialsIssued,
    /// `environment.ready`
    EnvironmentReady,
    /// `environment.step`
    EnvironmentStep,
    /// `iteration.started`
    IterationStarted,
    /// `iteration.committed`
    IterationCommitted,
    /// `agent.output`
    AgentOutput,
    /// `agent.finished`
    AgentFinished,
    /// `provider.waiting`
    ProviderWaiting,
    /// `provider.resumed`
    ProviderResumed,
    /// `children.refused`
    ChildrenRefused,
    /// `protected.restored`
    ProtectedRestored,
    /// `integration.started`
    IntegrationStarted,
    /// `integration.merged`
    IntegrationMerged,
    /// `integration.conflict`
    IntegrationConflict,
    /// `verification.baseline`
    VerificationBaseline,
    /// `verification.started`
    VerificationStarted,
    /// `verification.passed`
    VerificationPassed,
    /// `verification.failed`
    VerificationFailed,
    /// `delivery.started`
    DeliveryStarted,
    /// `delivery.finished`
    DeliveryFinished,
    /// `delivery.skipped`
    DeliverySkipped,
}

use TimelineEventType as T;

use super::{
    CancelledData, CompletedData, FailedData, KillRequestedData, StartedData, StatusData,
    WaitingData,
};
use crate::schema::TypeSchema;
use crate::webhook::EventType;

/// What an event of a type carries beside the members that every event of a run has.
#[derive(Debug, Clone, Copy)]
pub enum Payload {
    /// The members of a type.
    Own(TypeSchema),
    /// Those of the runner's event, by the name of its variant on the wire.
    Reported(&'static str),
}

type Row = (TimelineEventType, &'static str, Payload, &'static str);

/// Each type, its name, what an event of it carries, and what it means.
const CATALOGUE: [Row; 33] = [
    (
        T::RunCreated,
        "run.created",
        Payload::Own(TypeSchema::of::<StatusData>()),
        "The run was created and waits for a slot.",
    ),
    (
        T::RunBuilding,
        "run.building",
        Payload::Own(TypeSchema::of::<StatusData>()),
        "The run has a slot; its task is being started.",
    ),
    (
        T::RunNoCapacity,
        "run.no_capacity",
        Payload::Own(TypeSchema::of::<StatusData>()),
        "The cloud had no compute for the run; it waits in the queue again.",
    ),
    (
        T::RunStarted,
        "run.started",
        Payload::Own(TypeSchema::of::<StartedData>()),
        "The first iteration of the run begins.",
    ),
    (
        T::RunWaiting,
        "run.waiting",
        Payload::Own(TypeSchema::of::<WaitingData>()),
        "The run has left its compute until its children have ended.",
    ),
    (
        T::RunIntegrating,
        "run.integrating",
        Payload::Own(TypeSchema::of::<StatusData>()),
        "The run has compute again to merge the results of its children.",
    ),
    (
        T::RunKillRequested,
        "run.kill_requested",
        Payload::Own(TypeSchema::of::<KillRequestedData<'static>>()),
        "A client requested a kill of the run's processes.",
    ),
    (
        T::RunCompleted,
        "run.completed",
        Payload::Own(TypeSchema::of::<CompletedData<'static>>()),
        "The run succeeded. It is the last event of the run.",
    ),
    (
        T::RunFailed,
        "run.failed",
        Payload::Own(TypeSchema::of::<FailedData<'static>>()),
        "The run failed. It is the last event of the run.",
    ),
    (
        T::RunCancelled,
        "run.cancelled",
        Payload::Own(TypeSchema::of::<CancelledData<'static>>()),
        "A client stopped the run. It is the last event of the run.",
    ),
    (
        T::WorkspaceReady,
        "workspace.ready",
        Payload::Reported("workspaceReady"),
        "The repository is cloned and the verification plan is frozen.",
    ),
    (
        T::FollowupReady,
        "followup.ready",
        Payload::Reported("followupReady"),
        "The workspace of a turn that continues a thread is ready.",
    ),
    (
        T::CredentialsIssued,
        "credentials.issued",
        Payload::Reported("credentialsIssued"),
        "The run has a credential for its git host, or another one instead of that.",
    ),
    (
        T::EnvironmentReady,
        "environment.ready",
        Payload::Reported("environmentReady"),
        "The setup of the environment is done.",
    ),
    (
        T::EnvironmentStep,
        "environment.step",
        Payload::Reported("environmentStep"),
        "A step of the environment's setup has ended.",
    ),
    (
        T::IterationStarted,
        "iteration.started",
        Payload::Reported("iterationStarted"),
        "An iteration begins: its agent starts.",
    ),
    (
        T::IterationCommitted,
        "iteration.committed",
        Payload::Reported("committed"),
        "The changes of an iteration are a commit.",
    ),
    (
        T::AgentOutput,
        "agent.output",
        Payload::Reported("agentOutput"),
        "A sample of the agent's output while it works.",
    ),
    (
        T::AgentFinished,
        "agent.finished",
        Payload::Reported("agentFinished"),
        "The agent of an iteration ended.",
    ),
    (
        T::ProviderWaiting,
        "provider.waiting",
        Payload::Reported("providerWaiting"),
        "The provider of the agent's models does not answer; the run waits for it, without a charge for compute.",
    ),
    (
        T::ProviderResumed,
        "provider.resumed",
        Payload::Reported("providerResumed"),
        "The wait for the provider is over, and the agent continues.",
    ),
    (
        T::ChildrenRefused,
        "children.refused",
        Payload::Reported("childrenRefused"),
        "The agent requested children, and none was created.",
    ),
    (
        T::ProtectedRestored,
        "protected.restored",
        Payload::Reported("protectedRestored"),
        "Protected files that the agent changed or removed are as they were at the base.",
    ),
    (
        T::IntegrationStarted,
        "integration.started",
        Payload::Reported("integrationStarted"),
        "All children have ended; their results are being merged.",
    ),
    (
        T::IntegrationMerged,
        "integration.merged",
        Payload::Reported("childMerged"),
        "The result of a child is part of the run's newest commit.",
    ),
    (
        T::IntegrationConflict,
        "integration.conflict",
        Payload::Reported("mergeConflict"),
        "The result of a child, or the target branch, conflicts with the run's newest commit; the agent is asked to resolve it.",
    ),
    (
        T::VerificationBaseline,
        "verification.baseline",
        Payload::Reported("baselineFinished"),
        "The verification plan was run on the base, before the agent begins.",
    ),
    (
        T::VerificationStarted,
        "verification.started",
        Payload::Reported("verificationStarted"),
        "The verification of an iteration begins.",
    ),
    (
        T::VerificationPassed,
        "verification.passed",
        Payload::Reported("verificationFinished"),
        "The verification of an iteration passed.",
    ),
    (
        T::VerificationFailed,
        "verification.failed",
        Payload::Reported("verificationFinished"),
        "The verification of an iteration failed.",
    ),
    (
        T::DeliveryStarted,
        "delivery.started",
        Payload::Reported("deliveryStarted"),
        "The delivery of the result begins.",
    ),
    (
        T::DeliveryFinished,
        "delivery.finished",
        Payload::Reported("delivered"),
        "The result branch is on the origin.",
    ),
    (
        T::DeliverySkipped,
        "delivery.skipped",
        Payload::Reported("deliverySkipped"),
        "A part of the delivery was left out, and the run continues.",
    ),
];

impl TimelineEventType {
    /// Every type, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = TimelineEventType> {
        CATALOGUE.iter().map(|(kind, ..)| *kind)
    }

    fn row(self) -> &'static Row {
        // The rows stand in the order of the type, which a test holds.
        &CATALOGUE[self as usize]
    }

    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// What an event of this type carries.
    #[must_use]
    pub fn payload(self) -> Payload {
        self.row().2
    }

    /// What an event of this type means.
    #[must_use]
    pub fn description(self) -> &'static str {
        self.row().3
    }

    /// The type of that name, if it is one that this release knows.
    #[must_use]
    pub fn parse(name: &str) -> Option<TimelineEventType> {
        T::all().find(|kind| kind.as_str() == name)
    }

    /// The type under which webhooks get it, if they do.
    #[must_use]
    pub fn webhook_type(self) -> Option<EventType> {
        let is_of_this = |kind: &EventType| kind.timeline_type() == Some(self);
        EventType::ALL.into_iter().find(is_of_this)
    }

    /// The name of the type in the OpenAPI document, such as `RunCreated`.
    #[must_use]
    pub fn schema_name(self) -> String {
        format!("{self:?}")
    }

    /// True if it reports the run's end: a run has one such event.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, T::RunCompleted | T::RunFailed | T::RunCancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_has_every_type_once_and_in_order() {
        for (i, (kind, name, ..)) in CATALOGUE.iter().enumerate() {
            assert_eq!(*kind as usize, i, "{name}");
            assert_eq!(kind.as_str(), *name);
            assert_eq!(T::parse(name), Some(*kind));
            let as_delivered = kind.webhook_type().map(EventType::as_str);
            assert!(as_delivered.is_none_or(|delivered| delivered == *name));
            assert_eq!(
                CATALOGUE
                    .iter()
                    .filter(|(_, other, ..)| other == name)
                    .count(),
                1,
                "{name}"
            );
        }
        assert_eq!(CATALOGUE.len(), T::DeliverySkipped as usize + 1);
    }
}
