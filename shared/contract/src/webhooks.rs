//! Webhooks and their deliveries.

pub mod input;
