//! Usage and its costs.

pub mod report;
pub mod summary;
