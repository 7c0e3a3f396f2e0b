//! Reports in JSON, of the form that their content has: one document, or an event a line.

mod documents;
mod events;
mod shapes;

use std::collections::BTreeMap;

use awo_domain::verification::Status;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{Finding, Findings, append};

/// Forms that are read, for people.
const FORMS: &str = "jest and vitest (`--json`), mocha (`--reporter json`), pytest-json-report, rspec \
                     (`--format json`), Playwright, CTRF, `go test -json`, libtest and nextest";

/// Members of a document.
type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Reads a report.
///
/// # Errors
/// Why it cannot be relied on, as the rest of a sentence that begins with its path.
pub(super) fn read(bytes: &[u8]) -> Result<Findings, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
    let text = text.trim_start_matches('\u{feff}');
    if let Some(form) = events::Form::of(text) {
        return events::read(form, text);
    }
    let members: Members<'_> =
        serde_json::from_str(text).map_err(|why| format!("is not a JSON report: {why}"))?;
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
        Err(format!("is JSON of no known form; known are {FORMS}"))
    }
}

/// A member of a document.
fn member<T: DeserializeOwned + Default>(members: &Members<'_>, name: &str) -> Result<T, String> {
    let Some(value) = members.get(name).filter(|value| value.get() != "null") else {
        return Ok(T::default());
    };
    serde_json::from_str(value.get()).map_err(|why| format!("has another {name}: {why}"))
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
    }
}

#[cfg(test)]
mod tests;
