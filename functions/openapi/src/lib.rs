//! The OpenAPI document of the API: [`document`] makes it from the route table and the types of
//! the answers, `docs/openapi.json` keeps it (`make openapi` writes it, a test compares it), and
//! [`get_openapi`] serves that file, and [`get_docs`] a page that shows it.

pub mod document;
pub mod get_docs;
pub mod get_openapi;
