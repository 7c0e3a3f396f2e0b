//! Webhooks and their deliveries.

pub mod input;
pub mod output;
