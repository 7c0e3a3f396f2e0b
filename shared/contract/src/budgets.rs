//! Budgets.

pub mod input;
