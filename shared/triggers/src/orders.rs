//! Bodies of the requests that a trigger makes of an event: of a create, or of a follow-up.

use awo_domain::trigger::{TriggerAction, TriggerContent};
use serde_json::{Map, Value, json};

use crate::event::Event;
use crate::fill::{FilledOrder, filled};
use crate::template::{PlaceFault, Template};

/// A request that a trigger makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// A create.
    Create,
    /// A create whose result is pushed onto the branch of the event.
    Adopt,
    /// A follow-up of a thread.
    FollowUp,
}

/// A body that cannot be made of an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderFault {
    /// The stored body does not read.
    #[error("the body of the work order is no object")]
    NoObject,
    /// A text has a place that is none.
    #[error("{0}")]
    Place(#[from] PlaceFault),
}

/// The body of the request that a trigger makes of an event and those that were gathered with it.
///
/// # Errors
/// [`OrderFault`].
pub fn request_of(
    content: &TriggerContent,
    kind: RequestKind,
    event: &Event<'_>,
    gathered: &[Event<'_>],
) -> Result<FilledOrder, OrderFault> {
    let body: Result<Map<String, Value>, _> = serde_json::from_str(&content.work_order);
    let mut body = filled(body.map_err(|_| OrderFault::NoObject)?, event, gathered)?;
    let Some(repository) = &event.repository else {
        return Ok(body);
    };
    if kind == RequestKind::FollowUp {
        return Ok(body);
    }
    let mut source = json!({ "type": "git", "repository": repository.as_str() });
    let branches = event.branches.as_ref();
    match (content.action, branches) {
        (TriggerAction::Verify, Some(branches)) => {
            match &branches.commit {
                Some(commit) => source["commit"] = json!(commit.as_str()),
                None => source["branch"] = json!(branches.head.as_str()),
            }
            body.insert("agent".to_owned(), json!({ "type": "verify" }));
            if let Some(target) = &branches.target {
                body.insert("verifyBase".to_owned(), json!(target.as_str()));
            }
        }
        (_, Some(branches)) if kind == RequestKind::Adopt => {
            body.insert("resultBranch".to_owned(), json!(branches.head.as_str()));
        }
        (_, Some(branches)) => source["branch"] = json!(branches.head.as_str()),
        (_, None) => {}
    }
    body.insert("workspaceSource".to_owned(), source);
    Ok(body)
}

/// The body of a trigger's request as it could be, without an event: places are empty. `repository` is a URL of the
/// inbox's forge, if a forge sends to it.
#[must_use]
pub fn sample(
    order: &Value,
    action: TriggerAction,
    kind: RequestKind,
    repository: Option<&str>,
) -> Value {
    let mut body = order.clone();
    let Some(repository) = repository.filter(|_| kind != RequestKind::FollowUp) else {
        return body;
    };
    body["workspaceSource"] = json!({ "type": "git", "repository": repository });
    match (action, kind) {
        (TriggerAction::Verify, _) => {
            body["agent"] = json!({ "type": "verify" });
            body["verifyBase"] = json!("main");
        }
        (_, RequestKind::Adopt) => body["resultBranch"] = json!("a-branch"),
        _ => {}
    }
    body
}

/// The faults of places in the texts of a body, each with its path below the body.
#[must_use]
pub fn place_faults(order: &Value) -> Vec<(String, PlaceFault)> {
    let prompt = order["taskPrompt"].as_str();
    let prompt = prompt.map(|text| ("/taskPrompt".to_owned(), text));
    let metadata = order["metadata"].as_object().into_iter().flatten();
    let metadata =
        metadata.filter_map(|(name, value)| Some((format!("/metadata/{name}"), value.as_str()?)));
    let texts = prompt.into_iter().chain(metadata);
    let fault = |(path, text): (String, &str)| Some((path, Template::parse(text).err()?));
    texts.filter_map(fault).collect()
}
