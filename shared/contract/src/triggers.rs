//! Bodies and responses of triggers.

pub mod input;
pub mod output;
