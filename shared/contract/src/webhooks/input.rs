//! Bodies of webhooks: a complete one, or a change of one.

use awo_domain::webhook::address::Reach;
use awo_domain::webhook::headers::{MAX_HEADERS, MAX_NAME, MAX_VALUE, SecretHeaders};
use awo_domain::webhook::target::{MAX_URL, WebhookUrl};
use awo_domain::webhook::{EventType, MAX_DESCRIPTION, WebhookContent, WebhookKind};
use awo_domain::{Error, Fault};
use serde_json::Value as Json;

use crate::body::Value;
use crate::field::{Field, flag, map, one_of, parsed, text, typed};
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
        let kind =
            typed::<WebhookKind, _, _>(|name| one_of(name, WebhookKind::ALL, WebhookKind::as_str))
                .described("The form of its requests; it cannot be changed.");
        let kind = members.defaulted("kind", kind, WebhookKind::default());
        let are_needed = kind == WebhookKind::Events;
        let events = members.required_if(are_needed, "events", event_types());
        let headers = headers(members);
        let description = members.optional("description", description());
        let events = match kind {
            WebhookKind::Events => events?,
            WebhookKind::Otlp => events.unwrap_or_else(|| kind.event_types().to_vec()),
        };
        members.faults(event_fault(kind, &events));
        Some(WebhookContent {
            url: url?,
            events,
            description: description.filter(|text| !text.is_empty()),
            kind,
            headers: headers.unwrap_or_default(),
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
    headers: Option<SecretHeaders>,
    /// New state of the webhook, if it is to change.
    pub enabled: Option<bool>,
}

impl WebhookChange {
    /// The content after the change: absent members stay as they are; an empty description removes
    /// the description; another host or port removes headers, which were secrets for the one before.
    ///
    /// # Errors
    /// [`Error::Invalid`], if a webhook of this kind cannot have these events.
    pub fn applied_to(self, old: WebhookContent) -> Result<WebhookContent, Error> {
        let description = self.description.or(old.description);
        let url = self.url.unwrap_or_else(|| old.url.clone());
        let kept = Some(old.headers).filter(|_| url.has_origin_of(&old.url));
        let events = self.events.unwrap_or(old.events);
        Error::if_any(event_fault(old.kind, &events).into_iter().collect())?;
        Ok(WebhookContent {
            url,
            events,
            description: description.filter(|text| !text.is_empty()),
            kind: old.kind,
            headers: self.headers.or(kept).unwrap_or_default(),
        })
    }
}

impl Record for WebhookUpdate {
    type Output = WebhookChange;

    fn members<M: Members>(&self, members: &mut M) -> Option<WebhookChange> {
        Some(WebhookChange {
            url: members.optional("url", url(self.reach)),
            events: members.optional("events", event_types()),
            description: members.optional("description", description()),
            headers: headers(members),
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

/// The fault of a type of event that a webhook of this kind cannot have.
fn event_fault(kind: WebhookKind, events: &[EventType]) -> Option<Fault> {
    let is_other = |event: &EventType| !kind.event_types().contains(event);
    let place = events.iter().position(is_other)?;
    Some(Fault {
        path: format!("/events/{place}"),
        message: "is not the end of a run, after which a webhook of the kind otlp gets spans"
            .to_owned(),
    })
}

/// The member `headers`: their names with their values.
fn headers<M: Members>(members: &mut M) -> Option<SecretHeaders> {
    let field = map(text(1..=MAX_VALUE), MAX_HEADERS, 1..=MAX_NAME).described(
        "Further headers of its requests, such as `authorization`: their names with values, which are secrets and are not shown again.",
    );
    let read = members.optional("headers", field)?;
    let mut headers = SecretHeaders::default();
    let faults = read.iter().filter_map(|(name, value)| {
        let message = headers.add(name, value).err()?.to_string();
        let name = name.replace('~', "~0").replace('/', "~1");
        Some(Fault {
            path: format!("/headers/{name}"),
            message,
        })
    });
    let faults: Vec<Fault> = faults.collect();
    members.faults(faults);
    Some(headers)
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
