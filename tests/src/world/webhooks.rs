//! Webhooks of organizations in a world.

use awo_domain::WebhookId;
use awo_domain::webhook::EventType;
use awo_domain::webhook::WebhookContent;
use awo_domain::webhook::WebhookKind;
use awo_domain::webhook::address::Reach;
use awo_domain::webhook::headers::SecretHeaders;
use awo_domain::webhook::target::WebhookUrl;
use awo_store::webhooks::Webhook;

use super::{Org, World};

impl World {
    /// Gives an organization a webhook that is disabled.
    pub async fn add_webhook(&self, org: &Org) -> WebhookId {
        let webhook = self.disabled_webhook();
        let made = self.store.create_webhook(&org.id, &webhook, None).await;
        made.expect("a webhook");
        webhook.id
    }

    /// A webhook without a receiver and without events.
    #[must_use]
    pub fn disabled_webhook(&self) -> Webhook {
        let (mint, now) = (&self.cloud.mint, self.cloud.clock.now());
        let url = "https://receiver.example/events";
        let content = WebhookContent {
            url: WebhookUrl::parse(url, Reach::Public).expect("a URL"),
            events: EventType::ALL.to_vec(),
            description: None,
            kind: WebhookKind::Events,
            headers: SecretHeaders::default(),
        };
        let id = WebhookId::new(now, mint.random(now));
        let webhook = Webhook::new(id, content.clone(), mint.webhook_secret(), now);
        webhook.updated(content, Some(false), now)
    }
}
