//! Reports in JSON, of the form that their content has: one document, or an event a line.

mod documents;
mod events;
mod shapes;

use std::collections::BTreeMap;
use std::str::Utf8Error;

use awo_domain::verification::Status;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use thiserror::Error;

use super::{Finding, Findings, append};

/// Forms that are read, for people.
const FORMS: &str = "jest and vitest (`--json`), mocha (`--reporter json`), pytest-json-report, rspec \
                     (`--format json`), Playwright, CTRF, `go test -json`, libtest and nextest";

/// Members of a document.
type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Reason why a report cannot be relied on: the rest of a sentence that begins with its path.
#[derive(Debug, Error)]
pub(super) enum Unreliable {
    #[error("is not UTF-8")]
    NotUtf8(#[from] Utf8Error),
    #[error("is not a JSON report: {0}")]
    NotJson(serde_json::Error),
    #[error("is JSON of no known form; known are {FORMS}")]
    UnknownForm,
    #[error("has another {name}: {why}")]
    Member {
        name: String,
        why: serde_json::Error,
    },
    #[error("has a bad event: {0}")]
    Event(serde_json::Error),
    /// Its own totals, or the bounds of a report, contradict it.
    #[error("{0}")]
    Content(String),
}

impl From<String> for Unreliable {
    fn from(why: String) -> Unreliable {
        Unreliable::Content(why)
    }
}

/// Reads a report.
///
/// # Errors
/// [`Unreliable`].
pub(super) fn read(bytes: &[u8]) -> Result<Findings, Unreliable> {
    let text = std::str::from_utf8(bytes)?;
    let text = text.trim_start_matches('\u{feff}');
    if let Some(form) = events::Form::of(text) {
        return events::read(form, text);
    }
    let members: Members<'_> = serde_json::from_str(text).map_err(Unreliable::NotJson)?;
    let has = |name: &str| members.contains_key(name);
    if has("testResults") {
        documents::jest(&members)
    } else if has("examples") && has("summary") {
        documents::rspec(&members)
    } else if has("passes") && has("failures") && has("stats") {
        documents::mocha(&members)
    } else if has("suites") && has("config") {
        documents::playwright(&members)
    } else if has("results") && !has("runs") {
        documents::ctrf(&members)
    } else if has("exitcode") || (has("tests") && has("summary")) {
        documents::pytest(&members)
    } else {
        Err(Unreliable::UnknownForm)
    }
}

/// A member of a document.
fn member<T: DeserializeOwned + Default>(
    members: &Members<'_>,
    name: &str,
) -> Result<T, Unreliable> {
    let Some(value) = members.get(name).filter(|value| value.get() != "null") else {
        return Ok(T::default());
    };
    serde_json::from_str(value.get()).map_err(|why| Unreliable::Member {
        name: name.to_owned(),
        why,
    })
}

fn finding(name: String, status: Status, parts: &[&str]) -> Finding {
    let mut message = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        append(&mut message, part);
        append(&mut message, "\n");
    }
    Finding {
        name,
        status,
        message,
        location: None,
    }
}

#[cfg(test)]
mod tests;
