//! The Model Context Protocol over the API: a JSON-RPC message in, its answer out.
//!
//! It knows tools, schemas and versions of the protocol, and nothing of HTTP connections: a
//! transport gives it a message with its headers, and an [`Api`] by which tools call the routes.

pub mod api;
pub mod catalogue;
mod fault;
mod headers;
mod message;
mod schema;
pub mod server;
mod tools;

pub use api::{Api, ApiRequest, ApiResponse, Method, Unreachable};
pub use headers::Headers;
pub use server::{Reply, Server};
