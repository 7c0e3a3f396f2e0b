//! The document as generators of clients read it: everything has a name, and every name is one that
//! every language can have.

use std::collections::BTreeSet;

use awo_tests::contract::{DOCUMENT, meant};
use serde_json::{Map, Value};

/// Names that languages or their generators have for something else.
const TAKEN: [&str; 31] = [
    "Array",
    "Attempt",
    "Boolean",
    "Check",
    "Class",
    "Configuration",
    "Date",
    "Delivery",
    "Diff",
    "Error",
    "Event",
    "Exception",
    "Fault",
    "Function",
    "Groups",
    "Health",
    "Hooks",
    "Level",
    "Log",
    "Logs",
    "Map",
    "Number",
    "Object",
    "Option",
    "Set",
    "Status",
    "Stop",
    "String",
    "Switch",
    "Test",
    "Validation",
];

fn schemas() -> &'static Map<String, Value> {
    DOCUMENT["components"]["schemas"].as_object().unwrap()
}

/// Every schema that stands in a part of the document, with its place. Examples are no schemas.
fn walk<'a>(value: &'a Value, at: &str, found: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                walk(item, &format!("{at}/{i}"), found);
            }
        }
        Value::Object(members) => {
            found.push((at.to_owned(), value));
            for (name, member) in members {
                let is_data = ["example", "examples", "enum", "default", "mapping"];
                if !is_data.contains(&name.as_str()) || at.ends_with("/properties") {
                    walk(member, &format!("{at}/{name}"), found);
                }
            }
        }
        _ => {}
    }
}

fn all() -> Vec<(String, &'static Value)> {
    let mut found = Vec::new();
    walk(&DOCUMENT, "", &mut found);
    found
}

/// True for what generators make a type of.
fn needs_a_name(schema: &Value) -> bool {
    let is_object = schema["type"] == "object" && schema["properties"].is_object();
    let has_values = schema["enum"].as_array().is_some_and(|of| of.len() > 1);
    is_object || has_values || schema["oneOf"].is_array() || schema["anyOf"].is_array()
}

/// True for a choice between one schema and null, which is no type of its own.
fn may_be_null(schema: &Value) -> bool {
    let choices = schema["oneOf"].as_array();
    choices.is_some_and(|of| of.len() == 2 && of.iter().any(|one| one["type"] == "null"))
}

#[test]
fn every_object_every_enumeration_and_every_union_is_a_component() {
    for (at, schema) in all() {
        let is_component = at.strip_prefix("/components/schemas/").is_some_and(|rest| {
            // Parts of a component that is put together of others stand in it.
            !rest.contains('/')
                || rest
                    .split_once("/allOf/")
                    .is_some_and(|(_, of)| !of.contains('/'))
        });
        assert!(
            is_component || !needs_a_name(schema) || may_be_null(schema),
            "{at} should be a component: {schema}"
        );
    }
}

#[test]
fn every_body_and_every_answer_refers_to_a_component() {
    for (at, value) in all() {
        let Some(schema) = value.pointer("/application~1json/schema") else {
            continue;
        };
        assert!(schema["$ref"].is_string(), "{at}: {schema}");
    }
}

#[test]
fn every_component_and_every_property_has_a_description() {
    for (name, schema) in schemas() {
        let has = |schema: &Value| {
            schema["description"]
                .as_str()
                .is_some_and(|of| !of.is_empty())
        };
        assert!(has(schema), "{name} has no description");
        let mut found = Vec::new();
        walk(schema, name, &mut found);
        for (at, value) in found {
            for (property, of) in value["properties"].as_object().into_iter().flatten() {
                assert!(
                    has(of) || has(meant(of)),
                    "{at}/{property} has no description"
                );
            }
        }
    }
}

#[test]
fn every_description_is_for_readers_of_the_api() {
    for (at, value) in all() {
        let text = value["description"].as_str().unwrap_or_default();
        for bad in ["[`", "`]", "::", "See there"] {
            assert!(!text.contains(bad), "{at}: {text}");
        }
    }
}

#[test]
fn every_reference_names_something_and_every_component_is_used() {
    let mut used = BTreeSet::new();
    for (at, value) in all() {
        if let Some(to) = value["$ref"].as_str() {
            assert!(DOCUMENT.pointer(&to[1..]).is_some(), "{at} names {to}");
            used.insert(to.to_owned());
        }
        let mapping = value["mapping"].as_object();
        let mapping = mapping.or_else(|| value["discriminator"]["mapping"].as_object());
        for to in mapping
            .into_iter()
            .flatten()
            .filter_map(|(_, to)| to.as_str())
        {
            assert!(DOCUMENT.pointer(&to[1..]).is_some(), "{at} names {to}");
        }
    }
    for name in schemas().keys() {
        // The union is for receivers, who name it themselves.
        let is_used = used.contains(&format!("#/components/schemas/{name}"));
        assert!(is_used || name == "WebhookPayload", "{name} is not used");
    }
}

#[test]
fn no_component_has_a_name_that_a_language_has() {
    let names: BTreeSet<&str> = schemas().keys().map(String::as_str).collect();
    for name in &names {
        assert!(!TAKEN.contains(name), "{name}");
        // Generators make `NewX` and `XFromJSON` of `X`.
        if let Some(rest) = name.strip_prefix("New") {
            assert!(!names.contains(rest), "{name} is a constructor of {rest}");
        }
    }
    let lower: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(lower.len(), names.len(), "two names differ by case alone");
}

#[test]
fn ids_in_paths_have_their_types() {
    for (path, methods) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                if parameter["in"] == "path" {
                    let schema = &parameter["schema"];
                    assert!(schema["$ref"].is_string(), "{method} {path}: {schema}");
                }
            }
        }
    }
}

#[test]
fn every_union_of_objects_with_a_type_says_so() {
    for name in ["WorkspaceSourceInput", "TimelineEvent", "WebhookPayload"] {
        let schema = &schemas()[name];
        assert_eq!(schema["discriminator"]["propertyName"], "type", "{name}");
        let mapping = schema["discriminator"]["mapping"].as_object().unwrap();
        assert_eq!(
            mapping.len(),
            schema["oneOf"].as_array().unwrap().len(),
            "{name}"
        );
        for (kind, to) in mapping {
            let of = DOCUMENT.pointer(&to.as_str().unwrap()[1..]).unwrap();
            assert_eq!(
                of["properties"]["type"]["enum"],
                serde_json::json!([kind]),
                "{name}"
            );
        }
    }
}
