//! A client's webhook, read and checked: a complete one, or a change of one.

use awo_domain::Error;
use awo_domain::webhook::address::Reach;
use awo_domain::webhook::target::WebhookUrl;
use awo_domain::webhook::{EventType, MAX_DESCRIPTION};
use awo_http::body::{Object, Value};
use awo_store::webhooks::Content;

/// Reads the body of a create.
pub fn read_new(mut body: Object, reach: Reach) -> Result<Content, Error> {
    let url = body.required("url", |v| v.parsed(|text| WebhookUrl::parse(text, reach)));
    let events = body.required("events", events);
    let description = body.optional("description", description);
    let read = url.zip(events).map(|(url, events)| Content {
        url,
        events,
        description: description.filter(|text| !text.is_empty()),
    });
    body.finish(read)
}

/// Reads the body of an update, and whether the webhook is to be enabled: fields that it omits
/// stay as they are; an empty description takes the description away.
pub fn read_update(
    mut body: Object,
    old: Content,
    reach: Reach,
) -> Result<(Content, Option<bool>), Error> {
    let url = body.optional("url", |v| v.parsed(|text| WebhookUrl::parse(text, reach)));
    let events = body.optional("events", events);
    let description = body.optional("description", description);
    let enabled = body.optional("enabled", Value::flag);
    let description = description.or(old.description);
    let content = Content {
        url: url.unwrap_or(old.url),
        events: events.unwrap_or(old.events),
        description: description.filter(|text| !text.is_empty()),
    };
    body.finish(Some((content, enabled)))
}

fn description(value: Value) -> Option<String> {
    value.text(0..=MAX_DESCRIPTION)
}

fn events(value: Value) -> Option<Vec<EventType>> {
    let mut before: Vec<EventType> = Vec::new();
    value.list(1..=EventType::ALL.len(), |v| {
        v.parsed(|name| {
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
