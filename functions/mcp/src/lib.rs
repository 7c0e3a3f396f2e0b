//! The route of the Model Context Protocol. [`serve_mcp`] answers messages; its tools call the API with the
//! caller's own key, as the caller would.

mod rest_api;
pub mod serve_mcp;

use awo_http::program::{ApiProgram, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[whole(&routes::SERVE_MCP, serve_mcp::function)];
