//! Bodies of deliveries, as each forge documents them. Whatever is not as documented is no event.

mod gitea;
mod github;
mod gitlab;
mod hub;

use std::collections::BTreeMap;

use awo_domain::forge::ForgeKind;
use awo_domain::trigger::TriggerEvent;
use serde_json::Value;

use crate::event::{Event, Sender};

/// The event of a delivery; none if it is none that triggers know. Names of headers are in lower case.
#[must_use]
pub fn event<'a>(
    sender: Sender<'_>,
    headers: &BTreeMap<String, String>,
    body: &'a Value,
) -> Option<Event<'a>> {
    let Some(forge) = sender.forge else {
        return Some(received(body));
    };
    let host = sender.host?;
    let header = |name: &str| headers.get(name).map(String::as_str);
    let event = match forge {
        ForgeKind::Github => github::event(header("x-github-event")?, body, host),
        ForgeKind::Gitea => {
            let name = header("x-forgejo-event").or_else(|| header("x-gitea-event"));
            gitea::event(name?, body, host)
        }
        ForgeKind::Gitlab => gitlab::event(body, host),
    };
    event.filter(|event| !event.names.is_empty())
}

/// The event of a sender that is no forge.
fn received(body: &Value) -> Event<'_> {
    Event {
        names: vec![TriggerEvent::Received],
        repository: None,
        subject: None,
        branches: None,
        actor: None,
        added_labels: None,
        comment: None,
        review: None,
        check: None,
        body,
    }
}
