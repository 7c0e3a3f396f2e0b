//! Routes of credits.

pub mod get_credits;
pub mod get_prices;
pub mod list_credit_transactions;
pub mod prices;
