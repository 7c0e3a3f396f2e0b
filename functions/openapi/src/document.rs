//! The OpenAPI 3.1 document, generated from the route table and the types of responses. Its example
//! responses are real ones: files of `examples/`, which the tests write.
//!
//! Generation panics if two types share a name or a route has no operation; only tests and `make
//! openapi` generate it.

mod events;
pub mod reference;

use awo_contract::routes::ROUTES;
use awo_contract::{failure, operations};
use serde_json::{Map, Value, json};

pub use awo_contract::operation::{OTHER_REPRESENTATIONS, OTHER_RESPONSES};
use awo_contract::schema::Schemas;

/// A real answer of a function with a status, if there is one; `plain-error` and
/// `envelope-error` stand for errors of every function.
pub type Example<'a> = &'a dyn Fn(&str, u16) -> Option<Value>;

/// The licence of every package, as SPDX calls it.
const LICENSE: &str = env!("CARGO_PKG_LICENSE");

/// The whole document.
///
/// # Panics
/// If a route has no operation, or two types have one name.
#[must_use]
pub fn document(example: Example<'_>) -> Value {
    let mut schemas = Schemas::default();
    for (name, schema) in failure::schemas() {
        schemas.keep(name, schema);
    }
    let mut webhooks = events::events(&mut schemas);
    schemas.lift(&mut webhooks);
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations::all(&mut schemas) {
        let route = operation.route;
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_ascii_lowercase()] = operation.into_value(example);
    }
    for route in ROUTES.iter().filter(|route| route.is_operation()) {
        let method = route.method.to_ascii_lowercase();
        let known = paths.get(route.path).and_then(|path| path.get(method));
        assert!(
            known.is_some(),
            "{} {} has no operation",
            route.method,
            route.path
        );
    }
    let mut paths = Value::Object(paths);
    schemas.lift(&mut paths);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Agent Work Order Service",
            "version": env!("CARGO_PKG_VERSION"),
            "description": include_str!("document/description.md"),
            "license": { "name": LICENSE, "identifier": LICENSE },
        },
        "servers": [{ "url": "/", "description": "The origin of this document." }],
        "tags": tags(),
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": schemas.into_value(),
            "responses": failure::responses(&paths.to_string(), example),
            "headers": headers(),
            "securitySchemes": { "organizationKey": {
                "type": "http",
                "scheme": "bearer",
                "description": "An organization's API key, `org_live_…`. Each operation names the scope that it needs; `*` includes all.",
            } },
        },
    })
}

fn tags() -> Value {
    json!([
        { "name": "work-orders", "description": "Tasks for agents." },
        { "name": "runs", "description": "Attempts at them." },
        { "name": "queue", "description": "Where they wait." },
        { "name": "audit", "description": "The configurations of runs." },
        { "name": "profiles", "description": "How runs iterate, verify and deliver." },
        { "name": "templates", "description": "Sources of workspaces." },
        { "name": "webhooks", "description": "Receivers of the events of runs." },
        { "name": "webhook-payloads", "description": "Requests that the service sends to webhooks: a receiver implements them." },
        { "name": "verification", "description": "Their verification." },
        { "name": "credits", "description": "The balance, and the amounts spent." },
        { "name": "statements", "description": "The booked amounts, by month." },
        { "name": "budgets", "description": "The limit." },
        { "name": "prices", "description": "Prices of models and compute." },
        { "name": "usage", "description": "The usage." },
        { "name": "exports", "description": "Charges, in formats of other tools." },
        { "name": "openapi", "description": "This document." },
    ])
}

fn headers() -> Value {
    let whole = |description: &str| json!({ "description": description, "schema": { "type": "integer", "minimum": 0 } });
    json!({
        "X-Request-Id": {
            "description": "The id of this request; quote it in support requests.",
            "schema": { "type": "string" },
        },
        "X-RateLimit-Limit": whole("The limit of requests of the key in a minute."),
        "X-RateLimit-Remaining": whole("The remaining requests of this window."),
        "X-RateLimit-Reset": whole("The Unix second at which the window ends."),
        "Retry-After": whole("Seconds after which to repeat the request."),
        "Location": {
            "description": "The path of the new resource.",
            "schema": { "type": "string" },
        },
        "Idempotent-Replayed": {
            "description": "`true` if this is a replay of the first response to the `Idempotency-Key`; absent otherwise.",
            "schema": { "type": "string", "enum": ["true"] },
        },
        "ETag": {
            "description": "The version of the document, for `If-None-Match`.",
            "schema": { "type": "string" },
        },
        "Cache-Control": {
            "description": "The time for which caches may store it.",
            "schema": { "type": "string" },
        },
    })
}
