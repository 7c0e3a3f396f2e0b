//! The console.

use crate::routes::{Route, page, page_file};

/// `GET /console/`
pub const GET_CONSOLE: Route = page("/console", "get-console");
/// `GET /console/{file}`
pub const GET_CONSOLE_FILE: Route = page_file("get-console-file", "/console/{file}", "get-console");

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[GET_CONSOLE, GET_CONSOLE_FILE];
