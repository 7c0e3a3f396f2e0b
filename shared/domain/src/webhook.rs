//! Webhooks: their events, their permitted addresses, the signatures and retries of deliveries.

pub mod address;
pub mod delivery;
pub mod envelope;
pub mod headers;
pub mod identity;
pub mod private_hosts;
pub mod schedule;
pub mod signature;
pub mod target;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::Timestamp;
use crate::budget::{BUDGET_THRESHOLD, CREDITS_LOW};
use crate::event::TimelineEventType;
use crate::names::variants;
use crate::pull_request::{PULL_REQUEST_CLOSED, PULL_REQUEST_MERGED};
use crate::schedule::{SCHEDULE_MISSED, SCHEDULE_PAUSED};
use crate::schema::TypeSchema;
use crate::trigger::TRIGGER_PAUSED;
use crate::webhook::headers::SecretHeaders;
use crate::webhook::target::WebhookUrl;

/// Webhooks of an organization, at most.
pub const MAX_WEBHOOKS: u32 = 20;
/// Longest description of a webhook, in characters.
pub const MAX_DESCRIPTION: usize = 500;

/// The type of the event that POST …/test sends; no webhook subscribes to it.
pub const TEST_EVENT: &str = "webhook.test";

/// The fields of a webhook that a client sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookContent {
    /// Address of the receiver.
    pub url: WebhookUrl,
    /// The types of events that it gets, in the client's order, each once.
    pub events: Vec<EventType>,
    /// For people.
    pub description: Option<String>,
    /// The form of its requests.
    pub kind: WebhookKind,
    /// Headers of its requests beside the service's own.
    pub headers: SecretHeaders,
}

/// The form of a webhook's requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum WebhookKind {
    /// An event in each request.
    #[default]
    Events,
    /// The spans of a run, as OTLP/HTTP has them in JSON, once the run is settled.
    Otlp,
}

impl WebhookKind {
    /// The types of events that a webhook of this kind can have.
    #[must_use]
    pub fn event_types(self) -> &'static [EventType] {
        match self {
            WebhookKind::Events => &EventType::ALL,
            WebhookKind::Otlp => &RUN_ENDS,
        }
    }
}

/// The types of a run's end.
pub const RUN_ENDS: [EventType; 3] = [
    EventType::RunCompleted,
    EventType::RunFailed,
    EventType::RunCancelled,
];

/// The event types of webhooks. Those of runs and verifications are also types of events of a
/// run's timeline, of which they are deliveries; types of the timeline that are not here are not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
#[derive(VariantArray)]
pub enum EventType {
    /// A run was created from a work order.
    RunCreated,
    /// Its execution began.
    RunStarted,
    /// It finished successfully.
    RunCompleted,
    /// It ended with a failure.
    RunFailed,
    /// A client canceled it.
    RunCancelled,
    /// The verification of an iteration began.
    VerificationStarted,
    /// It passed.
    VerificationPassed,
    /// It failed.
    VerificationFailed,
    /// A percentage of a budget is reached.
    BudgetThreshold,
    /// Fewer credits are available than the organization's threshold.
    CreditsLow,
    /// A schedule does not fire until it is resumed.
    SchedulePaused,
    /// Times of a schedule were missed.
    ScheduleMissed,
    /// A trigger does nothing until it is written again.
    TriggerPaused,
    /// A pull request of a thread was merged.
    PullRequestMerged,
    /// A pull request of a thread was closed without a merge.
    PullRequestClosed,
}

/// What a webhook's event is a delivery of. Name, payload and description stand there.
#[derive(Debug, Clone, Copy)]
pub enum EventSource {
    /// Events of a run's timeline.
    Run(TimelineEventType),
    /// An event that is of an organization and of no run.
    Organization(&'static OrganizationEvent),
}

/// The type of an event that is of an organization and of no run.
#[derive(Debug)]
pub struct OrganizationEvent {
    /// The name on the wire.
    pub name: &'static str,
    /// What an event of it means.
    pub description: &'static str,
    /// Its data.
    pub data: TypeSchema,
    /// An example of its data.
    pub sample: fn(Timestamp) -> Value,
}

impl EventType {
    /// Every type.
    pub const ALL: [EventType; EventType::VARIANTS.len()] = variants();

    /// What an event of this type is a delivery of.
    #[must_use]
    pub fn source(self) -> EventSource {
        use EventSource::{Organization, Run};
        use TimelineEventType as T;
        match self {
            EventType::RunCreated => Run(T::RunCreated),
            EventType::RunStarted => Run(T::RunStarted),
            EventType::RunCompleted => Run(T::RunCompleted),
            EventType::RunFailed => Run(T::RunFailed),
            EventType::RunCancelled => Run(T::RunCancelled),
            EventType::VerificationStarted => Run(T::VerificationStarted),
            EventType::VerificationPassed => Run(T::VerificationPassed),
            EventType::VerificationFailed => Run(T::VerificationFailed),
            EventType::BudgetThreshold => Organization(&BUDGET_THRESHOLD),
            EventType::CreditsLow => Organization(&CREDITS_LOW),
            EventType::SchedulePaused => Organization(&SCHEDULE_PAUSED),
            EventType::ScheduleMissed => Organization(&SCHEDULE_MISSED),
            EventType::TriggerPaused => Organization(&TRIGGER_PAUSED),
            EventType::PullRequestMerged => Organization(&PULL_REQUEST_MERGED),
            EventType::PullRequestClosed => Organization(&PULL_REQUEST_CLOSED),
        }
    }

    /// The type of the timeline's events that it delivers, if it is of runs.
    #[must_use]
    pub fn timeline_type(self) -> Option<TimelineEventType> {
        match self.source() {
            EventSource::Run(kind) => Some(kind),
            EventSource::Organization(_) => None,
        }
    }

    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self.source() {
            EventSource::Run(kind) => kind.as_str(),
            EventSource::Organization(event) => event.name,
        }
    }

    /// The type of that name, if there is one.
    #[must_use]
    pub fn parse(name: &str) -> Option<EventType> {
        EventType::ALL
            .into_iter()
            .find(|kind| kind.as_str() == name)
    }
}

impl From<EventType> for &'static str {
    fn from(kind: EventType) -> &'static str {
        kind.as_str()
    }
}

impl TryFrom<String> for EventType {
    type Error = String;

    fn try_from(name: String) -> Result<EventType, String> {
        EventType::parse(&name).ok_or_else(|| format!("there is no event type {name:?}"))
    }
}

/// The status of a delivery: of one event to one webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = WebhookDeliveryStatus)]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum DeliveryStatus {
    /// It is tried, or waits for its next attempt.
    Pending,
    /// The receiver has it.
    Delivered,
    /// It is not tried again.
    Abandoned,
}

impl DeliveryStatus {
    /// True when no attempt is made any more.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        self != DeliveryStatus::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Lifecycle, RunEnding};
    use crate::money::MicroCredits;
    use crate::run::RunStatus;
    use serde_json::json;

    #[test]
    fn wire_names_are_the_serde_names_and_the_contracts() {
        let names = [
            "run.created",
            "run.started",
            "run.completed",
            "run.failed",
            "run.cancelled",
            "verification.started",
            "verification.passed",
            "verification.failed",
            "budget.threshold",
            "credits.low",
            "schedule.paused",
            "schedule.missed",
            "trigger.paused",
            "pull_request.merged",
            "pull_request.closed",
        ];
        for (kind, name) in EventType::ALL.into_iter().zip(names) {
            assert_eq!(json!(kind), json!(name));
            assert_eq!(kind.as_str(), name);
            assert_eq!(EventType::parse(name), Some(kind));
        }
        assert_eq!(EventType::parse("run.canceled"), None);
        assert_eq!(EventType::parse(TEST_EVENT), None);
        for status in DeliveryStatus::ALL {
            assert_eq!(json!(status), json!(status.as_str()));
            assert_eq!(DeliveryStatus::parse(status.as_str()), Some(status));
        }
    }

    #[test]
    fn every_end_of_a_run_and_its_start_are_events_to_subscribe_to() {
        let at = Timestamp::from_epoch_ms(0);
        let ends = RunStatus::ALL.into_iter().filter(|s| s.is_terminal());
        let ends = ends.map(|status| {
            Lifecycle::Ended(RunEnding {
                status,
                iterations: 1,
                pr_url: None,
                verified: true,
                verification: None,
                error: None,
                started_at: at,
                completed_at: at,
                credits: MicroCredits::ZERO,
                reason: None,
            })
        });
        let begins = [Lifecycle::Created, Lifecycle::Started { started_at: at }];
        for event in ends.chain(begins) {
            let (kind, _) = event.to_parts();
            assert!(kind.webhook_type().is_some(), "{kind:?}");
        }
        let (kind, _) = Lifecycle::Building.to_parts();
        assert_eq!(kind.webhook_type(), None, "the timeline's own");
    }
}
