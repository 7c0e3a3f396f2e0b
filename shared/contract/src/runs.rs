//! Runs.

pub mod diff;
pub mod input;
pub mod log;
pub mod output;
