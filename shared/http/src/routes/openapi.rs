//! The OpenAPI document.

use super::{Route, open, page, page_file};

/// `GET /openapi.json`
pub const GET_OPENAPI: Route = open("/openapi.json", "get-openapi");
/// `GET /docs`
pub const GET_DOCS: Route = page("/docs", "get-docs");
/// `GET /docs/{file}`
pub const GET_DOCS_FILE: Route = page_file("get-docs-file", "/docs/{file}", "get-docs");

/// The routes of this group.
pub(super) const ALL: &[Route] = &[GET_OPENAPI, GET_DOCS, GET_DOCS_FILE];
