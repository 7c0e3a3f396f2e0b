//! From the outbox to deliveries: one of each event to each webhook that is enabled and subscribed
//! when it is looked at.

use awo_domain::{Error, OrgId, WebhookId};
use awo_store::errands::Errand;
use awo_store::outbox::OutboxEvent;
use awo_store::webhooks::Webhook;
use futures::future::join_all;

use super::{Message, State};

/// Events of one look; what is behind them is another errand.
const EVENTS: u32 = 100;
/// Events that are written at once.
const AT_ONCE: usize = 8;

/// Looks into an organization's outbox, and tells which of the messages that said so stay.
pub(super) async fn look_into(state: &State, org: OrgId, messages: Vec<Message>) -> Vec<String> {
    match empty(state, &org).await {
        Ok(()) => Vec::new(),
        Err(error) => {
            tracing::error!(%org, ?error, "an outbox was not emptied; its messages come back");
            messages.into_iter().map(|message| message.id).collect()
        }
    }
}

async fn empty(state: &State, org: &OrgId) -> Result<(), Error> {
    let store = &state.store;
    // Before the webhooks: one that was there when an event was told is told of it.
    let events = store.outbox(org, EVENTS).await?;
    if events.items.is_empty() {
        return Ok(());
    }
    let webhooks = store.enabled_webhooks(org).await?;
    let mut failed = None;
    for some in events.items.chunks(AT_ONCE) {
        let written = some.iter().map(|event| fan_out(state, event, &webhooks));
        let written = join_all(written).await;
        // One that fails keeps no other in the outbox.
        failed = written.into_iter().find_map(Result::err).or(failed);
    }
    if events.has_more && failed.is_none() {
        store.note(Errand::Outbox(org.clone()));
    }
    failed.map_or(Ok(()), Err)
}

async fn fan_out(state: &State, event: &OutboxEvent, webhooks: &[Webhook]) -> Result<(), Error> {
    let told = |webhook: &&Webhook| webhook.content.events.contains(&event.event_type);
    let to: Vec<WebhookId> = webhooks.iter().filter(told).map(|w| w.id.clone()).collect();
    state.store.fan_out(event, &to, state.clock.now()).await
}
