//! The queue.

pub mod output;
