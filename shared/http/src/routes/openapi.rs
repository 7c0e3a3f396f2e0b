//! The OpenAPI document.

use super::{Route, open, page};

/// `GET /openapi.json`
pub const GET_OPENAPI: Route = open("/openapi.json", "get-openapi");
/// `GET /docs`
pub const GET_DOCS: Route = page("/docs", "get-docs");
/// `GET /docs/{file}`
pub const GET_DOCS_FILE: Route = page("/docs/{file}", "get-docs");
