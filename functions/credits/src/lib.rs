//! Routes of credits.

pub mod get_credits;
pub mod list_credit_transactions;
