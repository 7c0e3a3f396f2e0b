//! Webhooks as they are stored: the only code that writes a secret.

use awo_domain::webhook::headers::SecretHeaders;
use awo_domain::webhook::signature::{Secret, Secrets};
use awo_domain::webhook::target::WebhookUrl;
use awo_domain::webhook::{EventType, WebhookContent, WebhookKind};
use awo_domain::{Timestamp, WebhookId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Webhook;
use crate::engine::item::SCHEMA_VERSION;

/// A secret on its way to the table and back: the only place that writes one out.
#[derive(Clone)]
struct StoredSecret(Secret);

impl Serialize for StoredSecret {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0.reveal())
    }
}

impl<'de> Deserialize<'de> for StoredSecret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<StoredSecret, D::Error> {
        let text = String::deserialize(from)?;
        let secret = Secret::parse(&text);
        // Not what was found: it goes to a log.
        let wrong = || serde::de::Error::custom("a stored secret does not read");
        secret.map(StoredSecret).ok_or_else(wrong)
    }
}

/// A webhook as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebhookItem {
    id: WebhookId,
    url: WebhookUrl,
    events: Vec<EventType>,
    #[serde(default)]
    kind: WebhookKind,
    #[serde(default, skip_serializing_if = "SecretHeaders::is_empty")]
    headers: SecretHeaders,
    enabled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
    secret: StoredSecret,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous_secret: Option<StoredSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous_secret_expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disabled_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disabled_reason: Option<String>,
    /// How often it was written.
    revision: u32,
    v: u32,
}

impl WebhookItem {
    /// The webhook with this revision.
    pub(super) fn of(webhook: &Webhook, revision: u32) -> WebhookItem {
        let previous = webhook.secrets.previous.clone();
        let (previous_secret, previous_secret_expires_at) = previous.unzip();
        let WebhookContent {
            url,
            events,
            description,
            kind,
            headers,
        } = webhook.content.clone();
        WebhookItem {
            id: webhook.id.clone(),
            url,
            events,
            kind,
            headers,
            enabled: webhook.enabled,
            description,
            created_at: webhook.created_at,
            updated_at: webhook.updated_at,
            secret: StoredSecret(webhook.secrets.current.clone()),
            previous_secret: previous_secret.map(StoredSecret),
            previous_secret_expires_at,
            disabled_at: webhook.disabled_at,
            disabled_reason: webhook.disabled_reason.clone(),
            revision,
            v: SCHEMA_VERSION,
        }
    }
}

impl From<WebhookItem> for Webhook {
    fn from(item: WebhookItem) -> Webhook {
        let previous = item.previous_secret.map(|secret| secret.0);
        Webhook {
            id: item.id,
            content: WebhookContent {
                url: item.url,
                events: item.events,
                description: item.description,
                kind: item.kind,
                headers: item.headers,
            },
            enabled: item.enabled,
            created_at: item.created_at,
            updated_at: item.updated_at,
            secrets: Secrets {
                current: item.secret.0,
                previous: previous.zip(item.previous_secret_expires_at),
            },
            disabled_at: item.disabled_at,
            disabled_reason: item.disabled_reason,
            revision: item.revision,
        }
    }
}
