//! Bodies and responses of schedules.

pub mod input;
pub mod output;
