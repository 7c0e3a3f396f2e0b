//! Routes of budgets.

pub mod create_budget;
pub mod delete_budget;
pub mod get_budget;
pub mod list_budgets;
pub mod update_budget;

use awo_http::program::{ApiProgram, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::CREATE_BUDGET, create_budget::function),
    whole(&routes::DELETE_BUDGET, delete_budget::function),
    whole(&routes::GET_BUDGET, get_budget::function),
    whole(&routes::LIST_BUDGETS, list_budgets::function),
    whole(&routes::UPDATE_BUDGET, update_budget::function),
];
