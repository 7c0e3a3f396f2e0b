//! Routes of budgets.

pub mod create_budget;
pub mod delete_budget;
pub mod get_budget;
pub mod list_budgets;
pub mod update_budget;

mod content;
pub mod shape;
