//! Environments.

pub mod input;
