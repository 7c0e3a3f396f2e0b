//! Inboxes and deliveries to them as the API shows them.

use awo_domain::forge::GitHostName;
use awo_domain::inbox::delivery::{InboxDelivery, InboxOutcome, TriggerResult};
use awo_domain::inbox::{DuplicateRule, Inbox, InboxKind, InboxSignature};
use awo_domain::{InboxDeliveryId, InboxId, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// An inbox, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxShape<'a> {
    /// The id of the inbox.
    id: &'a InboxId,
    /// A name for people.
    name: &'a str,
    /// The kind of its sender.
    kind: InboxKind,
    /// The host of the forge.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    /// For `hmac` the header with the signature; for `gitlab` `token`, if its token is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(inline = false)]
    signature: Option<&'a InboxSignature>,
    /// For `hmac`: the rule by which a delivery is a duplicate.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicates: Option<DuplicateRule>,
    /// False if every delivery is refused.
    enabled: bool,
    /// The time of its creation.
    created_at: Timestamp,
    /// The time of its last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
    /// After a rotation: until when the secret before is accepted, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_secret_expires_at: Option<Timestamp>,
}

impl<'a> InboxShape<'a> {
    /// As it is shown at `now`.
    #[must_use]
    pub fn of(inbox: &'a Inbox, now: Timestamp) -> InboxShape<'a> {
        let content = &inbox.content;
        let is_hmac = content.kind == InboxKind::Hmac;
        InboxShape {
            id: &inbox.id,
            name: &content.name,
            kind: content.kind,
            host: content.host.as_ref().map(GitHostName::as_str),
            signature: content.signature.as_ref(),
            duplicates: is_hmac.then(|| content.duplicates.unwrap_or_default()),
            enabled: content.enabled,
            created_at: inbox.created_at,
            updated_at: inbox.updated_at,
            previous_secret_expires_at: inbox.previous_secret_expires_at(now),
        }
    }
}

/// A new inbox with its URL and its secret, which is shown here and nowhere else.
#[derive(Serialize, ToSchema)]
#[schema(as = InboxWithSecret)]
pub struct NewInboxShape<'a> {
    /// The inbox.
    #[schema(inline = false)]
    inbox: InboxShape<'a>,
    /// The URL to which the sender posts its deliveries.
    url: String,
    /// The secret with which the sender signs.
    secret: &'a str,
}

impl<'a> NewInboxShape<'a> {
    /// The shape of an inbox that was just made.
    #[must_use]
    pub fn of(inbox: &'a Inbox, url: String) -> NewInboxShape<'a> {
        NewInboxShape {
            inbox: InboxShape::of(inbox, inbox.created_at),
            url,
            secret: inbox.secrets.current.reveal(),
        }
    }
}

/// A new secret of an inbox, which is shown here and nowhere else.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = InboxSecret)]
pub struct InboxSecretShape<'a> {
    /// The secret with which the sender signs from now on.
    pub secret: &'a str,
    /// Until when the secret before is accepted, too.
    pub previous_secret_expires_at: Timestamp,
}

/// The receipt of a delivery, which is stored.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DeliveryReceipt)]
pub struct ReceiptShape<'a> {
    /// The id of the delivery; of a duplicate that of the first one.
    pub delivery_id: &'a InboxDeliveryId,
    /// True if it was stored before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub duplicate: bool,
}

/// A delivery to an inbox.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = InboxDelivery)]
pub struct InboxDeliveryShape<'a> {
    /// The id of the delivery.
    id: &'a InboxDeliveryId,
    /// The time of its arrival.
    received_at: Timestamp,
    /// The event; before it is processed as a header names it.
    event: &'a str,
    /// The issue, pull request or branch that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    /// The account that caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
    /// The id that the sender gave it, which the signature need not cover.
    #[serde(skip_serializing_if = "Option::is_none")]
    sender_id: Option<&'a str>,
    /// The number of bytes of its body.
    body_bytes: u64,
    /// The outcome: the first of these that a trigger has.
    outcome: InboxOutcome,
    /// The cause of a processing that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// The result of each trigger of the inbox.
    #[schema(inline = false)]
    triggers: &'a [TriggerResult],
}

impl<'a> From<&'a InboxDelivery> for InboxDeliveryShape<'a> {
    fn from(delivery: &'a InboxDelivery) -> InboxDeliveryShape<'a> {
        InboxDeliveryShape {
            id: &delivery.id,
            received_at: delivery.received_at,
            event: &delivery.event,
            subject: delivery.subject.as_deref(),
            actor: delivery.actor.as_deref(),
            sender_id: delivery.sender_id.as_deref(),
            body_bytes: delivery.body_bytes,
            outcome: delivery.outcome,
            reason: delivery.reason.as_deref(),
            triggers: &delivery.triggers,
        }
    }
}
