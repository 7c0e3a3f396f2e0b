//! The queue of an organization: its tally, and what clients see of it.

pub mod tally;
pub mod view;
