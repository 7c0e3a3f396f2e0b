//! Bodies and responses of inboxes and of the deliveries to them.

pub mod input;
pub mod output;
