//! Routes of usage.

pub mod get_usage_summary;

mod csv;
mod shape;
