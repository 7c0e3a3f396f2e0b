//! Parts of the schemas of tools, of the operations that they call.

use serde_json::{Value, json};

use crate::schema::{component, operation, reference};

/// An object of these members and no other.
pub(super) fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The id of a work order.
pub(super) fn id(description: &str) -> Value {
    let mut schema = reference("WorkOrderId");
    schema["description"] = json!(description);
    schema
}

/// The id of a run.
pub(super) fn run() -> Value {
    let mut schema = reference("RunId");
    schema["description"] = json!("The run: `runId` of a work order is its newest.");
    schema
}

/// The body of a request as arguments, with the key of the request and the id of its path.
pub(super) fn with_key(mut schema: Value, work_order: Option<Value>) -> Value {
    schema["properties"]["idempotencyKey"] = json!({
        "type": "string", "pattern": "^[!-~]{1,255}$",
        "description": "The same key with the same arguments within 24 hours creates nothing again.",
    });
    if let Some(id) = work_order {
        schema["properties"]["workOrderId"] = id;
        let mut required = schema["required"].as_array().cloned().unwrap_or_default();
        required.push(json!("workOrderId"));
        schema["required"] = json!(required);
    }
    schema
}

/// The body of an operation's request.
pub(super) fn body_of(id: &str) -> Value {
    let schema = &operation(id)["requestBody"]["content"]["application/json"]["schema"];
    component(&name_of(schema)).clone()
}

/// The query parameters of an operation as properties.
pub(super) fn queries_of(id: &str) -> Value {
    let parameters = operation(id)["parameters"].as_array();
    let queries = parameters.into_iter().flatten();
    let queries = queries.filter(|parameter| parameter["in"] == "query");
    let property = |parameter: &Value| {
        let mut schema = parameter["schema"].clone();
        schema["description"] = parameter["description"].clone();
        let name = parameter["name"].as_str().unwrap_or_default();
        (name.to_owned(), schema)
    };
    Value::Object(queries.map(property).collect())
}

/// The component of an operation's data, without the envelope.
pub(super) fn answer_of(id: &str) -> String {
    let responses = &operation(id)["responses"];
    let content = |status: &str| &responses[status]["content"]["application/json"]["schema"];
    let name = ["200", "201"].map(|status| name_of(content(status)));
    let name = name.into_iter().find(|name| !name.is_empty());
    let name = name.unwrap_or_default();
    let data = &component(&name)["properties"]["data"];
    if component(&name)["properties"]["success"].is_object() {
        name_of(data)
    } else {
        name
    }
}

fn name_of(schema: &Value) -> String {
    let to = schema["$ref"].as_str().unwrap_or_default();
    to.rsplit('/').next().unwrap_or_default().to_owned()
}
