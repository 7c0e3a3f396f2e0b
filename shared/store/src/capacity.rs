//! Capacity: of the deployment for tasks, and of functions for long calls.

pub mod call_permits;
pub mod permits;
mod waiters;
