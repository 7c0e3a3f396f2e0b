//! Routes of credits.

pub mod get_credits;
pub mod get_prices;
pub mod get_statement;
pub mod list_credit_transactions;
pub mod list_statements;

mod statement_csv;
mod statement_page;

use awo_http::program::{ApiProgram, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::GET_CREDITS, get_credits::function),
    whole(&routes::GET_PRICES, get_prices::function),
    whole(&routes::GET_STATEMENT, get_statement::function),
    whole(
        &routes::LIST_CREDIT_TRANSACTIONS,
        list_credit_transactions::function,
    ),
    whole(&routes::LIST_STATEMENTS, list_statements::function),
];
