//! Credits: balance, entries, holds, budgets, statements, and the check of them.

pub mod budgets;
pub mod charges;
pub mod checkpoints;
pub mod credit_prices;
pub mod credits;
pub mod holds;
pub mod refunds;
pub mod statements;
