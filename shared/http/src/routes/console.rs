//! The console.

use super::{Route, open};

/// `GET /console/`
pub const GET_CONSOLE: Route = open("/console", "get-console");
/// `GET /console/{file}`
pub const GET_CONSOLE_FILE: Route = open("/console/{file}", "get-console-file");
