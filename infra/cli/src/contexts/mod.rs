//! `awo context`: several services, each with its key, one of them selected.

pub mod login;
pub mod store;

use awo_cloud::Environment;
use reqwest::Url;
use serde_json::json;

use crate::address;
use crate::arguments::{Connection, ContextAction};
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use store::{Contexts, LOCAL};

/// Letters of a key that are public: its prefix and its id.
const PUBLIC: usize = 21;

/// Does what is asked.
pub fn run(
    action: &ContextAction,
    connection: &Connection,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    match action {
        ContextAction::List => list(environment, output),
        ContextAction::Use { name } => {
            store::change(environment, |contexts| {
                if name != LOCAL {
                    contexts.named(name)?;
                }
                contexts.current = Some(name.clone());
                Ok(())
            })?;
            report(output, name, &format!("{name} is now the current context"))
        }
        ContextAction::Show => show(connection, environment, output),
        ContextAction::Delete { name } => {
            store::change(environment, |contexts| {
                contexts.named(name)?;
                contexts.contexts.remove(name);
                let was_current = contexts.current.as_ref() == Some(name);
                contexts.current = contexts.current.take().filter(|_| !was_current);
                Ok(())
            })?;
            let why = format!("deleted {name}; its key remains valid until it is revoked");
            report(output, name, &why)
        }
    }
}

fn report(output: &Output, name: &str, text: &str) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(&json!({ "context": name }).to_string());
    }
    output.line(text)
}

fn list(environment: &Environment, output: &Output) -> Result<(), Failure> {
    let contexts = Contexts::read(environment)?;
    let is_current = |name: &str| contexts.current.as_deref() == Some(name);
    let local = (LOCAL, "the local service");
    let stored = contexts.contexts.iter();
    let stored = stored.map(|(name, stored)| (name.as_str(), stored.url.as_str()));
    let all: Vec<(&str, &str)> = std::iter::once(local).chain(stored).collect();
    if output.is_json() {
        let shape = |(name, url): &(&str, &str)| json!({ "context": name, "address": url, "current": is_current(name) });
        let all: Vec<_> = all.iter().map(shape).collect();
        return output.line(&json!({ "contexts": all }).to_string());
    }
    for (name, url) in all {
        let star = if is_current(name) { "*" } else { " " };
        output.line(&format!("{star} {name:<20}  {}", clean_line(url)))?;
    }
    Ok(())
}

fn show(
    connection: &Connection,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let found = address::resolve(connection, environment)?;
    let key: String = found.api_key.chars().take(PUBLIC).collect();
    if output.is_json() {
        let shape = json!({ "context": found.context, "address": found.url.as_str(), "why": found.why, "key": key });
        return output.line(&shape.to_string());
    }
    if let Some(context) = &found.context {
        field(output, "context", clean_line(context))?;
    }
    field(output, "address", clean_line(found.url.as_str()))?;
    field(output, "key", format!("{}…", clean_line(&key)))?;
    field(output, "because of", clean_line(&found.why))
}

/// The name that a context has where none is given.
fn default_name(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}
