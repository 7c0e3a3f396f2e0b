//! Routes of usage.

pub mod export_focus;
pub mod get_usage_report;
pub mod get_usage_summary;

mod csv;
pub mod report;
pub mod shape;
