//! The document itself.

use serde_json::json;

use crate::operation::{Operation, Success};
use crate::routes::{Route, open, page, page_file};
use crate::schema::{Schemas, named};

/// `GET /openapi.json`
pub const GET_OPENAPI: Route = open("/openapi.json", "get-openapi");
/// `GET /docs`
pub const GET_DOCS: Route = page("/docs", "get-docs");
/// `GET /docs/{file}`
pub const GET_DOCS_FILE: Route = page_file("get-docs-file", "/docs/{file}", "get-docs");

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[GET_OPENAPI, GET_DOCS, GET_DOCS_FILE];

pub(crate) fn all(_: &mut Schemas) -> Vec<Operation> {
    let document = json!({
        "type": "object",
        "description": "A document in OpenAPI 3.1.",
        "required": ["openapi", "info", "paths"],
    });
    let document = named("OpenApiDocument", document);
    let get = Operation::of(
        &GET_OPENAPI,
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
