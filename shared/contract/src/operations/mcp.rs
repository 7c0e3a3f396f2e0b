//! The Model Context Protocol: messages of JSON-RPC, which are no operations of the API.

use crate::routes::{Route, any_key};

/// `POST /mcp`
pub const SERVE_MCP: Route = any_key("/mcp", "serve-mcp");

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[SERVE_MCP];
