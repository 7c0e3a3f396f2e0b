//! The document itself.

use awo_http::routes;
use serde_json::json;

use crate::document::operation::{Operation, Success};
use crate::document::schema::{Schemas, named};

pub fn all(_: &mut Schemas) -> Vec<Operation> {
    let document = json!({
        "type": "object",
        "description": "A document as OpenAPI 3.1 has it.",
        "required": ["openapi", "info", "paths"],
    });
    let document = named("OpenApiDocument", document);
    let get = Operation::of(
        &routes::GET_OPENAPI,
        "Get this document",
        "What this API is, in OpenAPI 3.1. It needs no key.",
    )
    .header(
        "If-None-Match",
        json!({ "type": "string" }),
        "The `ETag` of the document that you have: if it is the same, the answer is 304.",
    );
    let get = get.answers(Success::with(200, "The document.", document));
    vec![get.answers(Success::not_modified("You have the document as it is."))]
}
