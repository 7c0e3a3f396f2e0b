//! The OpenAPI document.

use super::{Route, open};

/// `GET /openapi.json`
pub const GET_OPENAPI: Route = open("/openapi.json", "get-openapi");
