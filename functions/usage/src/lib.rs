//! Routes of usage.

pub mod get_usage_report;
pub mod get_usage_summary;

mod csv;
pub mod report;
pub mod shape;
