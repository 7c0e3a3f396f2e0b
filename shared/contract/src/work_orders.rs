//! Work orders.

pub mod input;
pub mod output;
pub mod stops;
pub mod threads;
