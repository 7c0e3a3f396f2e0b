//! The OpenAPI document against the route table and the types, with real responses as its examples.

mod errors;
mod examples;
mod payloads;
mod scene;
mod structure;
mod timeless;

use std::path::{Path, PathBuf};

use awo_openapi::document::document;
use awo_openapi::document::reference::reference;
use awo_tests::contract;
use serde_json::Value;

/// If it is set, the document and its examples are written rather than compared.
const WRITE: &str = "AWO_WRITE_OPENAPI";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The file of the answer of a function with a status.
fn example_file(function: &str, status: u16) -> PathBuf {
    let dir = repository().join("functions/openapi/examples");
    dir.join(format!("{function}.{status}.json"))
}

fn read(path: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).expect("JSON"))
}

/// Compares a file with what it should be, or writes it.
fn stored(path: &Path, wanted: &Value) {
    if std::env::var_os(WRITE).is_some() {
        let text = serde_json::to_string_pretty(wanted).unwrap() + "\n";
        std::fs::write(path, text).unwrap();
    }
    let stored = read(path).unwrap_or_default();
    assert_eq!(
        stored,
        *wanted,
        "{} is not what it should be: if it should change, run `make openapi`",
        path.display()
    );
}

#[test]
fn the_document_is_what_the_route_table_and_the_types_say() {
    let example = |function: &str, status| read(&example_file(function, status));
    stored(&repository().join("docs/openapi.json"), &document(&example));
}

#[test]
fn the_reference_is_what_the_document_says() {
    let path = repository().join("docs/reference.md");
    let wanted = reference(&contract::DOCUMENT);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == wanted,
        "docs/reference.md is not what it should be: run `make openapi`"
    );
}

#[test]
fn the_licence_is_the_same_wherever_it_stands() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).unwrap();
    let info = &contract::DOCUMENT["info"]["license"];
    let package = env!("CARGO_PKG_LICENSE");
    assert_eq!(
        (info["name"].as_str(), info["identifier"].as_str()),
        (Some(package), Some(package))
    );
    let manifest = read("Cargo.toml");
    assert!(
        manifest.contains(&format!("license = \"{package}\"")),
        "Cargo.toml"
    );
    let text = read("LICENSE");
    let title: Vec<&str> = text.lines().map(str::trim).take(2).collect();
    let of_text = match title.as_slice() {
        ["Apache License", version] if version.starts_with("Version 2.0,") => "Apache-2.0",
        other => panic!("LICENSE is {other:?}"),
    };
    assert_eq!(of_text, package);
}

#[test]
fn every_example_and_every_default_is_as_its_schema_says() {
    let document = &*contract::DOCUMENT;
    let mut examples = 0;
    let mut waiting = vec![document];
    while let Some(value) = waiting.pop() {
        if let (Some(example), Some(schema)) = (value.get("example"), value.get("schema")) {
            contract::conforms(schema, example, &example.to_string());
            examples += 1;
        }
        if let (Some(default), true) = (value.get("default"), value.get("type").is_some()) {
            contract::conforms(value, default, &value.to_string());
        }
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => waiting.extend(members.values()),
            _ => {}
        }
    }
    assert!(examples > 20, "{examples} examples");
}

#[test]
fn every_operation_is_described_with_an_example_of_what_it_takes_and_answers() {
    for (path, methods) in contract::DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let what = format!("{method} {path}");
            for name in ["operationId", "summary", "description", "tags", "security"] {
                assert!(operation.get(name).is_some(), "{what} has no {name}");
            }
            if let Some(body) = operation.get("requestBody") {
                let content = &body["content"]["application/json"];
                assert!(
                    content.get("example").is_some(),
                    "{what} has no example of a body"
                );
            }
            for (status, response) in operation["responses"].as_object().unwrap() {
                let content = response.pointer("/content/application~1json");
                let reported = content.is_none_or(|content| content.get("example").is_some());
                let is_document = path == "/openapi.json";
                assert!(reported || is_document, "{what} has no example of {status}");
            }
        }
    }
}
