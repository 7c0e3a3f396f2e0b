//! Harness profiles.

pub mod input;
