//! The OpenAPI 3.1 document, generated from the route table and the types of responses. Its example
//! responses are real ones: files of `examples/`, which the tests write.
//!
//! Generation panics if two types share a name or a route has no operation; only tests and `make
//! openapi` generate it.

mod errors;
mod operation;
mod operations;
mod schema;

use awo_http::routes::{Access, ROUTES};
use serde_json::{Map, Value, json};

use self::schema::Schemas;

/// A real answer of a function with a status, if there is one; `plain-error` and
/// `envelope-error` stand for errors of every function.
pub type Example<'a> = &'a dyn Fn(&str, u16) -> Option<Value>;

/// The whole document.
///
/// # Panics
/// If a route has no operation, or two types have one name.
#[must_use]
pub fn document(example: Example<'_>) -> Value {
    let mut schemas = Schemas::default();
    for (name, schema) in errors::schemas() {
        schemas.keep(name, schema);
    }
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations::all(&mut schemas) {
        let route = operation.route;
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_ascii_lowercase()] = operation.into_value(example);
    }
    for route in ROUTES.iter().filter(|route| route.access != Access::Runner) {
        let method = route.method.to_ascii_lowercase();
        let known = paths.get(route.path).and_then(|path| path.get(method));
        assert!(
            known.is_some(),
            "{} {} has no operation",
            route.method,
            route.path
        );
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Agent Work Order Service",
            "version": env!("CARGO_PKG_VERSION"),
            "description": include_str!("document/description.md"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "Where this document came from." }],
        "tags": tags(),
        "paths": paths,
        "components": {
            "schemas": schemas.into_value(),
            "responses": errors::responses(&json!(paths).to_string(), example),
            "headers": headers(),
            "securitySchemes": { "organizationKey": {
                "type": "http",
                "scheme": "bearer",
                "description": "An organization's API key, `org_live_…`. Each operation names the scope that it needs; `*` has them all.",
            } },
        },
    })
}

fn tags() -> Value {
    json!([
        { "name": "work-orders", "description": "Tasks for agents." },
        { "name": "runs", "description": "Attempts at them." },
        { "name": "queue", "description": "Where they wait." },
        { "name": "audit", "description": "What configured them." },
        { "name": "profiles", "description": "How runs iterate, verify and deliver." },
        { "name": "templates", "description": "Where workspaces come from." },
        { "name": "webhooks", "description": "Who is told of what happens to runs." },
        { "name": "verification", "description": "What checks them." },
        { "name": "credits", "description": "What there is to spend, and what was spent." },
        { "name": "usage", "description": "What was used." },
        { "name": "openapi", "description": "This document." },
    ])
}

fn headers() -> Value {
    let whole = |description: &str| json!({ "description": description, "schema": { "type": "integer", "minimum": 0 } });
    json!({
        "X-Request-Id": {
            "description": "The id of this request, to be named in questions about it.",
            "schema": { "type": "string" },
        },
        "X-RateLimit-Limit": whole("Requests that the key may make in a minute."),
        "X-RateLimit-Remaining": whole("How many of them are left in this window."),
        "X-RateLimit-Reset": whole("The Unix second at which the window ends."),
        "Retry-After": whole("Seconds after which to come again."),
    })
}
