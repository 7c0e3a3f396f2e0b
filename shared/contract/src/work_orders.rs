//! Work orders.

pub mod input;
pub mod stops;
