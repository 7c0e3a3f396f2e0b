//! Budgets.

use awo_domain::api_key::Scope;

use super::{Route, Style, creating, keyed};

/// `GET /v1/budgets`
pub const LIST_BUDGETS: Route = keyed(
    "GET",
    "/v1/budgets",
    Scope::BudgetsRead,
    Style::Plain,
    "list-budgets",
);
/// `POST /v1/budgets`
pub const CREATE_BUDGET: Route = creating(
    keyed(
        "POST",
        "/v1/budgets",
        Scope::BudgetsWrite,
        Style::Plain,
        "create-budget",
    ),
    "/v1/budgets",
    "/id",
);
/// `GET /v1/budgets/{id}`
pub const GET_BUDGET: Route = keyed(
    "GET",
    "/v1/budgets/{id}",
    Scope::BudgetsRead,
    Style::Plain,
    "get-budget",
);
/// `PUT /v1/budgets/{id}`
pub const UPDATE_BUDGET: Route = keyed(
    "PUT",
    "/v1/budgets/{id}",
    Scope::BudgetsWrite,
    Style::Plain,
    "update-budget",
);
/// `DELETE /v1/budgets/{id}`
pub const DELETE_BUDGET: Route = keyed(
    "DELETE",
    "/v1/budgets/{id}",
    Scope::BudgetsWrite,
    Style::Plain,
    "delete-budget",
);

/// The routes of this group.
pub(super) const ALL: &[Route] = &[
    LIST_BUDGETS,
    CREATE_BUDGET,
    GET_BUDGET,
    UPDATE_BUDGET,
    DELETE_BUDGET,
];
