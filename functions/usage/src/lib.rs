//! Routes of usage.

pub mod get_usage_summary;

mod csv;
pub mod shape;
