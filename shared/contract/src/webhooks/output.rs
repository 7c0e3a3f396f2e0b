//! Webhooks and deliveries as the API shows them.

use awo_domain::webhook::delivery::{DeliveryAttempt, SendReport};
use awo_domain::webhook::{DeliveryStatus, EventType, WebhookKind};
use awo_domain::{AttemptId, DeliveryId, EventId, RunId, Timestamp, WebhookId};
use awo_store::webhooks::Webhook;
use awo_store::webhooks::deliveries::Delivery;
use serde::Serialize;
use utoipa::ToSchema;

/// A webhook, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookShape<'a> {
    /// Its id.
    id: &'a WebhookId,
    /// Where deliveries go.
    url: &'a str,
    /// The form of its requests.
    kind: WebhookKind,
    /// The types of its events.
    events: &'a [EventType],
    /// The names of its further headers; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    header_names: Vec<&'a str>,
    /// False if it gets no events.
    enabled: bool,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    /// When it was created.
    created_at: Timestamp,
    /// When it was changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
    /// Since when it is disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_at: Option<Timestamp>,
    /// Why the service disabled it; absent if its owner did.
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_reason: Option<&'a str>,
    /// After a rotation: until when the secret before signs, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_secret_expires_at: Option<Timestamp>,
}

impl<'a> WebhookShape<'a> {
    /// As it is shown at `now`.
    #[must_use]
    pub fn of(webhook: &'a Webhook, now: Timestamp) -> WebhookShape<'a> {
        WebhookShape {
            id: &webhook.id,
            url: webhook.content.url.as_str(),
            kind: webhook.content.kind,
            events: &webhook.content.events,
            header_names: webhook.content.headers.names().collect(),
            enabled: webhook.enabled,
            description: webhook.content.description.as_deref(),
            created_at: webhook.created_at,
            updated_at: webhook.updated_at,
            disabled_at: webhook.disabled_at,
            disabled_reason: webhook.disabled_reason.as_deref(),
            previous_secret_expires_at: webhook.previous_secret_expires_at(now),
        }
    }
}

/// A new webhook with its secret, which is shown here and nowhere else.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookWithSecret)]
pub struct NewWebhookShape<'a> {
    /// The webhook.
    #[schema(inline = false)]
    webhook: WebhookShape<'a>,
    /// `whsec_` and Base64 of 32 random bytes.
    #[schema(pattern = "^whsec_[A-Za-z0-9+/]{43}=$")]
    secret: String,
}

impl<'a> NewWebhookShape<'a> {
    /// Of a webhook that was just made.
    #[must_use]
    pub fn of(webhook: &'a Webhook) -> NewWebhookShape<'a> {
        NewWebhookShape {
            webhook: WebhookShape::of(webhook, webhook.created_at),
            secret: webhook.secrets.current.reveal(),
        }
    }
}

/// A new secret, which is shown here and nowhere else.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookSecret)]
pub struct NewSecretShape {
    /// `whsec_` and Base64 of 32 random bytes.
    #[schema(pattern = "^whsec_[A-Za-z0-9+/]{43}=$")]
    pub secret: String,
    /// Until when the secret before signs, too.
    pub previous_secret_expires_at: Timestamp,
}

/// The outcome of a test.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookTestResult)]
pub struct TestShape<'a> {
    /// The event that was sent, of the type `webhook.test`.
    event_id: &'a EventId,
    /// True if the receiver answered 2xx in time.
    delivered: bool,
    /// The receiver's status, if it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    status_code: Option<u16>,
    /// How long it took.
    duration_ms: i64,
    /// The fault, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl<'a> TestShape<'a> {
    /// Of an attempt that has ended.
    #[must_use]
    pub fn of(event: &'a EventId, sent: &'a SendReport) -> TestShape<'a> {
        TestShape {
            event_id: event,
            delivered: sent.error.is_none(),
            status_code: sent.status_code(),
            duration_ms: sent.duration_ms,
            error: sent.error.as_deref(),
        }
    }
}

/// An attempt of a delivery.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookDeliveryAttempt)]
pub struct AttemptShape<'a> {
    /// The attempt's id.
    id: &'a AttemptId,
    /// From 1.
    #[schema(minimum = 1)]
    number: u32,
    /// When it began.
    started_at: Timestamp,
    /// Absent while it is under way, and if its end is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<i64>,
    /// The receiver's status, if it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    status_code: Option<u16>,
    /// The fault, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl<'a> From<&'a DeliveryAttempt> for AttemptShape<'a> {
    fn from(attempt: &'a DeliveryAttempt) -> AttemptShape<'a> {
        AttemptShape {
            id: &attempt.id,
            number: attempt.number,
            started_at: attempt.started_at,
            duration_ms: attempt.duration_ms,
            status_code: attempt.status_code,
            error: attempt.error.as_deref(),
        }
    }
}

/// A delivery of an event to a webhook.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookDelivery)]
pub struct DeliveryShape<'a> {
    /// The delivery's id.
    id: &'a DeliveryId,
    /// The event; the same in each delivery of it.
    event_id: &'a EventId,
    /// The event's type.
    event_type: EventType,
    /// The run that the event is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a RunId>,
    /// Whether it waits for an attempt, was delivered, or was abandoned.
    status: DeliveryStatus,
    /// Its attempts, oldest first.
    attempts: Vec<AttemptShape<'a>>,
    /// When it is tried next, while it is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<Timestamp>,
    /// When it was created.
    created_at: Timestamp,
    /// The delivery that somebody wanted again.
    #[serde(skip_serializing_if = "Option::is_none")]
    redelivery_of: Option<&'a DeliveryId>,
    /// Why it was abandoned without another attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    abandoned_reason: Option<&'a str>,
}

impl<'a> From<&'a Delivery> for DeliveryShape<'a> {
    fn from(delivery: &'a Delivery) -> DeliveryShape<'a> {
        let progress = &delivery.progress;
        DeliveryShape {
            id: &delivery.id,
            event_id: &delivery.event_id,
            event_type: delivery.event_type,
            run_id: delivery.run_id.as_ref(),
            status: progress.status,
            attempts: progress.attempts.iter().map(AttemptShape::from).collect(),
            next_attempt_at: progress.next_attempt_at,
            created_at: delivery.created_at,
            redelivery_of: delivery.redelivery_of.as_ref(),
            abandoned_reason: progress.abandoned_reason.as_deref(),
        }
    }
}
