//! Runs.

pub mod input;
