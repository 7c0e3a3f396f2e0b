//! The document itself.

use awo_http::routes;
use serde_json::json;

use crate::document::operation::{Operation, Success};
use awo_contract::schema::{Schemas, named};

pub fn all(_: &mut Schemas) -> Vec<Operation> {
    let document = json!({
        "type": "object",
        "description": "A document in OpenAPI 3.1.",
        "required": ["openapi", "info", "paths"],
    });
    let document = named("OpenApiDocument", document);
    let get = Operation::of(
        &routes::GET_OPENAPI,
        "Get this document",
        "The description of this API in OpenAPI 3.1. It needs no key.",
    )
    .header(
        "If-None-Match",
        json!({ "type": "string" }),
        "The `ETag` of your copy of the document: if it is current, the response is 304.",
    );
    let get = get.answers(Success::with(200, "The document.", document));
    vec![get.answers(Success::not_modified(
        "Your copy of the document is current.",
    ))]
}
