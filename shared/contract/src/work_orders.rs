//! Work orders.

pub mod input;
pub mod output;
mod pull_request;
pub mod stops;
pub mod threads;
