//! The console.

use super::{Route, page};

/// `GET /console/`
pub const GET_CONSOLE: Route = page("/console", "get-console");
/// `GET /console/{file}`
pub const GET_CONSOLE_FILE: Route = page("/console/{file}", "get-console");
