//! Templates.

pub mod input;
