//! Messages about the shape of a result file: which field, and what it must be.
//! `docs/result-file.schema.json` is the machine-readable form.

use serde_json::{Map, Value};

const FIELDS: &str = "status, summary, sessionId, usage, children";
const USAGE: &str =
    "a list of {model, inputTokens, outputTokens, cachedInputTokens?, cacheWriteTokens?, costUsd?}";
const CHILDREN: &str =
    "a list of {taskPrompt, \u{2026}the body of a create without workspaceSource}";

/// The first fault; nothing if the shape is as it should be, or the text is no JSON.
pub(super) fn fault(bytes: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let Some(fields) = value.as_object() else {
        return Some(format!("it must be an object with any of {FIELDS}"));
    };
    fields.iter().find_map(|(name, value)| match name.as_str() {
        "status" => {
            let known = matches!(value.as_str(), Some("completed" | "failed"));
            (!known).then(|| "status must be \"completed\" or \"failed\"".to_owned())
        }
        "summary" | "sessionId" => {
            let is_text = value.is_string() || value.is_null();
            (!is_text).then(|| format!("{name} must be a text"))
        }
        "usage" => list_fault("usage", value, USAGE, usage_fault),
        "children" => list_fault("children", value, CHILDREN, |_, _| None),
        other => {
            let shown: String = other.chars().take(50).collect();
            Some(format!("{shown:?} is not one of its fields: {FIELDS}"))
        }
    })
}

fn list_fault(
    name: &str,
    value: &Value,
    shape: &str,
    entry_fault: impl Fn(&str, &Map<String, Value>) -> Option<String>,
) -> Option<String> {
    let Some(entries) = value.as_array() else {
        return Some(format!("{name} must be {shape}"));
    };
    entries.iter().enumerate().find_map(|(at, entry)| {
        let place = format!("{name}[{at}]");
        match entry.as_object() {
            Some(entry) => entry_fault(&place, entry),
            None => Some(format!("{place} must be an object; {name} is {shape}")),
        }
    })
}

fn usage_fault(place: &str, entry: &Map<String, Value>) -> Option<String> {
    if !entry.get("model").is_some_and(Value::is_string) {
        return Some(format!(
            "{place}.model must be the model's name; usage is {USAGE}"
        ));
    }
    let counts = [
        ("inputTokens", true),
        ("outputTokens", true),
        ("cachedInputTokens", false),
        ("cacheWriteTokens", false),
    ];
    let wrong = counts
        .iter()
        .find(|(name, required)| match entry.get(*name) {
            None | Some(Value::Null) => *required,
            Some(count) => !count.is_u64(),
        });
    if let Some((name, _)) = wrong {
        return Some(format!(
            "{place}.{name} must be a whole number; usage is {USAGE}"
        ));
    }
    let cost = entry.get("costUsd").filter(|cost| !cost.is_null());
    if cost.is_some_and(|cost| !cost.is_number()) {
        return Some(format!("{place}.costUsd must be a number"));
    }
    const KNOWN: [&str; 6] = [
        "model",
        "inputTokens",
        "outputTokens",
        "cachedInputTokens",
        "cacheWriteTokens",
        "costUsd",
    ];
    let unknown = entry.keys().find(|name| !KNOWN.contains(&name.as_str()))?;
    let shown: String = unknown.chars().take(50).collect();
    Some(format!("{place} has no field {shown:?}; usage is {USAGE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_the_field_and_the_shape_that_it_must_have() {
        for (text, words) in [
            (
                r#"{"usage":{"model":"m"}}"#,
                ["usage must be a list of {model", "inputTokens"],
            ),
            (
                r#"{"usage":[{"inputTokens":1,"outputTokens":1}]}"#,
                ["usage[0].model", "name"],
            ),
            (
                r#"{"usage":[{"model":"m","inputTokens":"1"}]}"#,
                ["usage[0].inputTokens", "whole"],
            ),
            (r#"{"usage":[3]}"#, ["usage[0]", "object"]),
            (
                r#"{"children":"x"}"#,
                ["children must be a list", "taskPrompt"],
            ),
            (r#"{"status":"done"}"#, ["status", "completed"]),
            (r#"{"summary":7}"#, ["summary", "text"]),
            (r#"{"sumary":"x"}"#, ["sumary", "sessionId"]),
            ("[]", ["object", "children"]),
        ] {
            let why = fault(text.as_bytes()).unwrap();
            assert!(words.iter().all(|word| why.contains(word)), "{text}: {why}");
        }
        assert_eq!(fault(br#"{"usage":[],"summary":"x"}"#), None);
        assert_eq!(fault(b"{"), None);
    }
}
