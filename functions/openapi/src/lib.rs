//! The OpenAPI document of the API. [`document`] generates it from the route table and the types of
//! responses, `docs/openapi.json` stores it (`make openapi` writes it, a test compares it), and
//! [`get_openapi`] serves that file.

pub mod document;
pub mod get_openapi;
