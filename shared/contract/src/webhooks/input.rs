//! Bodies of webhooks: a complete one, or a change of one.

use awo_domain::webhook::address::Reach;
use awo_domain::webhook::target::{MAX_URL, WebhookUrl};
use awo_domain::webhook::{EventType, MAX_DESCRIPTION, WebhookContent};
use serde_json::Value as Json;

use crate::body::Value;
use crate::field::{Field, flag, parsed, text};
use crate::record::{Members, Record};
use crate::schema::{self, Schemas};

/// The body of a create.
#[derive(Debug)]
pub struct NewWebhook {
    /// The addresses that receivers may have.
    pub reach: Reach,
}

impl Record for NewWebhook {
    type Output = WebhookContent;

    fn members<M: Members>(&self, members: &mut M) -> Option<WebhookContent> {
        let url = members.required("url", url(self.reach));
        let events = members.required("events", event_types());
        let description = members.optional("description", description());
        Some(WebhookContent {
            url: url?,
            events: events?,
            description: description.filter(|text| !text.is_empty()),
        })
    }
}

/// The body of an update.
#[derive(Debug)]
pub struct WebhookUpdate {
    /// The addresses that receivers may have.
    pub reach: Reach,
}

/// The given members of an update.
#[derive(Debug)]
pub struct WebhookChange {
    url: Option<WebhookUrl>,
    events: Option<Vec<EventType>>,
    description: Option<String>,
    /// New state of the webhook, if it is to change.
    pub enabled: Option<bool>,
}

impl WebhookChange {
    /// The content after the change: absent members stay as they are; an empty description removes
    /// the description.
    #[must_use]
    pub fn applied_to(self, old: WebhookContent) -> WebhookContent {
        let description = self.description.or(old.description);
        WebhookContent {
            url: self.url.unwrap_or(old.url),
            events: self.events.unwrap_or(old.events),
            description: description.filter(|text| !text.is_empty()),
        }
    }
}

impl Record for WebhookUpdate {
    type Output = WebhookChange;

    fn members<M: Members>(&self, members: &mut M) -> Option<WebhookChange> {
        Some(WebhookChange {
            url: members.optional("url", url(self.reach)),
            events: members.optional("events", event_types()),
            description: members.optional("description", description()),
            enabled: members.optional("enabled", flag().described("False: it gets no events.")),
        })
    }
}

fn url(reach: Reach) -> impl Field<Output = WebhookUrl> {
    parsed(text(1..=MAX_URL), move |url| WebhookUrl::parse(url, reach)).described(
        "A public `https` URL: no user name, no fragment, no address or name of a special or local range.",
    )
}

fn description() -> impl Field<Output = String> {
    text(0..=MAX_DESCRIPTION).described("For people.")
}

fn event_types() -> impl Field<Output = Vec<EventType>> {
    EventTypes.described("The types of its events, each once.")
}

/// Types of events, each once.
struct EventTypes;

impl Field for EventTypes {
    type Output = Vec<EventType>;

    fn read(&self, value: Value) -> Option<Vec<EventType>> {
        let mut before: Vec<EventType> = Vec::new();
        value.list(1..=EventType::ALL.len(), |item| {
            item.parsed(|name| {
                let kind = EventType::parse(name).ok_or_else(|| {
                    let all = EventType::ALL.map(EventType::as_str).join(", ");
                    format!("must be one of {all}")
                })?;
                if before.contains(&kind) {
                    return Err(format!("repeats {name}: list each type once"));
                }
                before.push(kind);
                Ok(kind)
            })
        })
    }

    // `uniqueItems` is left out: generators make a set of what is unique, which is awkward to write.
    fn schema(&self, schemas: &mut Schemas) -> Json {
        schema::list(&schemas.of::<EventType>(), 1..=EventType::ALL.len())
    }
}
