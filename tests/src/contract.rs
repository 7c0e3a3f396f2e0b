//! Compares every response to a test's client with the OpenAPI document, and records it, so that
//! the end of the test run can report what the tests never saw.
//!
//! The document permits additional members of responses; here an undocumented member is a fault.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use awo_http::routes::{ROUTES, Route};
use awo_openapi::document::{OTHER_REPRESENTATIONS, OTHER_RESPONSES};
use jsonschema::Validator;
use serde_json::{Value, json};

/// A file to which the pairs of operation and status are written that were seen, if it is set.
pub const ANSWERS_FILE: &str = "AWO_ANSWERS_FILE";

/// The document as it is committed.
pub static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json");
    let text = std::fs::read_to_string(path).expect("docs/openapi.json");
    serde_json::from_str(&text).expect("JSON")
});

static STRICT: LazyLock<Value> = LazyLock::new(|| {
    let mut document = DOCUMENT.clone();
    let whole = document.clone();
    strict(&mut document, &whole);
    document
});

/// Making a validator takes longer than an answer.
static VALIDATORS: Mutex<BTreeMap<(&'static str, u16), Arc<Validator>>> =
    Mutex::new(BTreeMap::new());

static SEEN: Mutex<BTreeSet<(&'static str, u16)>> = Mutex::new(BTreeSet::new());

/// The public operation that a request is for.
#[must_use]
pub fn operation(method: &str, target: &str) -> Option<&'static Route> {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    // A gateway takes a path with a slash at its end for the one without.
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut routes = ROUTES.iter();
    routes.find(|r| r.is_operation() && r.method == method && r.matches(path))
}

/// Every pair of operation and status that the document has.
#[must_use]
pub fn documented() -> BTreeSet<(String, u16)> {
    let public = ROUTES.iter().filter(|r| r.is_operation());
    let statuses = |route: &Route| {
        let responses = responses(&DOCUMENT, route);
        let others = other_responses(&DOCUMENT, route).as_object();
        let all = responses.as_object().into_iter().chain(others);
        let keys: Vec<String> = all.flat_map(|of| of.keys()).cloned().collect();
        let function = route.function.to_owned();
        keys.into_iter()
            .map(move |status| (function.clone(), status.parse().expect("a status")))
    };
    public.flat_map(statuses).collect()
}

/// Holds an answer to the document.
///
/// # Panics
/// If the document has no such answer.
pub fn check(method: &str, target: &str, status: u16, content_type: &str, text: &str) {
    let Some(route) = operation(method, target) else {
        return;
    };
    let what = || format!("{method} {target} answered {status} {text}");
    let status_text = status.to_string();
    let response = responses(&STRICT, route).get(&status_text);
    let response = response.or_else(|| other_responses(&STRICT, route).get(&status_text));
    let response = response.unwrap_or_else(|| panic!("{} is not documented: {}", status, what()));
    let response = resolved(&STRICT, response);
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    match response.get("content") {
        None => assert_eq!(text, "", "a body that is not documented: {}", what()),
        Some(content) => {
            let other = &response[OTHER_REPRESENTATIONS];
            let of = content.get(media_type).or_else(|| other.get(media_type));
            let of = of.unwrap_or_else(|| panic!("{media_type} is not documented: {}", what()));
            if media_type == "application/json" {
                let body: Value =
                    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {}", what()));
                let validator = VALIDATORS
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .entry((route.function, status))
                    .or_insert_with(|| Arc::new(validator(&of["schema"])))
                    .clone();
                holds(&validator, &body, &what());
            }
        }
    }
    note(route.function, status);
}

/// Holds a value to a schema of the document.
///
/// # Panics
/// If it does not conform.
pub fn conforms(schema: &Value, value: &Value, what: &str) {
    holds(&validator(schema), value, what);
}

/// Holds a value to a schema of the document, as a client reads it: with members that the schema
/// does not name.
///
/// # Panics
/// If it does not conform.
pub fn conforms_openly(schema: &Value, value: &Value, what: &str) {
    let whole = json!({ "allOf": [schema], "components": DOCUMENT["components"] });
    let validator = jsonschema::validator_for(&whole).expect("a schema");
    holds(&validator, value, what);
}

/// Whether a schema of the document allows a value.
#[must_use]
pub fn allows(schema: &Value, value: &Value) -> bool {
    validator(schema).is_valid(value)
}

fn validator(schema: &Value) -> Validator {
    let whole = json!({ "allOf": [schema], "components": STRICT["components"] });
    jsonschema::validator_for(&whole).expect("a schema")
}

fn holds(validator: &Validator, value: &Value, what: &str) {
    let faults = validator.iter_errors(value);
    let faults = faults.map(|fault| format!("{} {fault}", fault.instance_path()));
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{faults:#?}\n{what}");
}

fn note(function: &'static str, status: u16) {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(path) = std::env::var_os(ANSWERS_FILE).filter(|_| seen.insert((function, status)))
    else {
        return;
    };
    let file = OpenOptions::new().create(true).append(true).open(path);
    let line = format!("{function} {status}\n");
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("a file for the answers");
}

fn responses<'a>(document: &'a Value, route: &Route) -> &'a Value {
    let method = route.method.to_ascii_lowercase();
    &document["paths"][route.path][method]["responses"]
}

fn other_responses<'a>(document: &'a Value, route: &Route) -> &'a Value {
    let method = route.method.to_ascii_lowercase();
    &document["paths"][route.path][method][OTHER_RESPONSES]
}

/// What a value of the document stands for, if it is a reference.
///
/// # Panics
/// If the document does not have what it names.
#[must_use]
pub fn meant(value: &Value) -> &Value {
    match value["$ref"].as_str().and_then(|to| to.strip_prefix('#')) {
        Some(pointer) => DOCUMENT.pointer(pointer).expect("what a reference names"),
        None => value,
    }
}

fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str().and_then(|to| to.strip_prefix('#')) {
        Some(pointer) => document.pointer(pointer).expect("what a reference names"),
        None => value,
    }
}

/// Closes every object that names its members; parts of one are put together first.
fn strict(schema: &mut Value, document: &Value) {
    if let Some(parts) = schema.get("allOf").and_then(Value::as_array).cloned() {
        let mut whole = json!({ "type": "object", "properties": {}, "required": [] });
        for part in &parts {
            let part = resolved(document, part);
            for (name, of) in part["properties"].as_object().into_iter().flatten() {
                whole["properties"][name] = of.clone();
            }
            let required = part["required"].as_array().into_iter().flatten().cloned();
            whole["required"]
                .as_array_mut()
                .expect("an array")
                .extend(required);
        }
        *schema = whole;
    }
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| strict(item, document)),
        Value::Object(members) => {
            let names_members = members.get("properties").is_some_and(Value::is_object)
                && members.get("type").is_some_and(|of| of == "object");
            if names_members {
                members
                    .entry("additionalProperties")
                    .or_insert(json!(false));
            }
            members
                .values_mut()
                .for_each(|member| strict(member, document));
        }
        _ => {}
    }
}
