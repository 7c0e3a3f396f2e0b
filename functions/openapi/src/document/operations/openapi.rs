//! The document itself.

use awo_http::routes;
use serde_json::json;

use crate::document::operation::{Operation, Success};
use crate::document::schema::Schemas;

pub fn all(_: &mut Schemas) -> Vec<Operation> {
    let document = json!({ "type": "object", "required": ["openapi", "info", "paths"] });
    let get = Operation::of(
        &routes::GET_OPENAPI,
        "Get this document",
        "What this API is, in OpenAPI 3.1. It needs no key.",
    );
    vec![get.answers(Success::with(200, "The document.", document))]
}
