//! Routes of credits.

pub mod get_credits;
pub mod get_prices;
pub mod get_statement;
pub mod list_credit_transactions;
pub mod list_statements;
pub mod prices;

mod statement_csv;
mod statement_page;
