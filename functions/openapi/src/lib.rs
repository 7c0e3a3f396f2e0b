//! The OpenAPI document of the API. [`document`] generates it from the route table and the types of
//! responses, `docs/openapi.json` stores it (`make openapi` writes it, a test compares it), and
//! [`get_openapi`] serves that file. [`get_docs`] serves a page that shows it.

pub mod document;
pub mod get_docs;
pub mod get_openapi;

use awo_http::program::{ApiProgram, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::GET_DOCS, get_docs::function),
    whole(&routes::GET_OPENAPI, get_openapi::function),
];
