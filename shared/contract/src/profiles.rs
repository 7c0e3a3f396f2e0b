//! Harness profiles.

pub mod input;
pub mod output;
