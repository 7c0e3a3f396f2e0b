//! Operations of budgets.

use awo_domain::BudgetId;
use awo_domain::api_key::Scope;
use serde_json::json;

use crate::budgets::input::BudgetBody;
use crate::budgets::output::BudgetShape;
use crate::failure::Failure;
use crate::field::Field;
use crate::operation::{Operation, Success, plain_list};
use crate::page::DEFAULT_LIMIT;
use crate::routes::{Route, creating, keyed};
use crate::schema::Schemas;

/// `GET /v1/budgets`
pub const LIST_BUDGETS: Route = keyed("GET", "/v1/budgets", Scope::BudgetsRead, "list-budgets");
/// `POST /v1/budgets`
pub const CREATE_BUDGET: Route = creating(
    keyed("POST", "/v1/budgets", Scope::BudgetsWrite, "create-budget"),
    "/v1/budgets",
    "/id",
);
/// `GET /v1/budgets/{id}`
pub const GET_BUDGET: Route = keyed("GET", "/v1/budgets/{id}", Scope::BudgetsRead, "get-budget");
/// `PUT /v1/budgets/{id}`
pub const UPDATE_BUDGET: Route = keyed(
    "PUT",
    "/v1/budgets/{id}",
    Scope::BudgetsWrite,
    "update-budget",
);
/// `DELETE /v1/budgets/{id}`
pub const DELETE_BUDGET: Route = keyed(
    "DELETE",
    "/v1/budgets/{id}",
    Scope::BudgetsWrite,
    "delete-budget",
);

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    LIST_BUDGETS,
    CREATE_BUDGET,
    GET_BUDGET,
    UPDATE_BUDGET,
    DELETE_BUDGET,
];

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("budgets", &schemas.of::<BudgetShape>());
    let list = Operation::of(&LIST_BUDGETS, "List budgets", "Newest first.");
    let get = Operation::of(
        &GET_BUDGET,
        "Get a budget",
        "Each has the amounts that count against its limit in the present period.",
    )
    .path::<BudgetId>();
    let delete = Operation::of(
        &DELETE_BUDGET,
        "Delete a budget",
        "Nothing counts against it any more, and runs that waited for it can begin.",
    )
    .path::<BudgetId>();
    vec![
        list.pages(DEFAULT_LIMIT)
            .answers(Success::with(200, "A page of budgets.", page)),
        create(schemas),
        get.answers(Success::of::<BudgetShape>(schemas, 200, "The budget.")),
        update(schemas),
        delete.answers(Success::nothing("It is gone.")),
    ]
}

fn create(schemas: &mut Schemas) -> Operation {
    let example = json!({
        "name": "Acme in a month",
        "scope": { "tenantId": "acme" },
        "period": "month",
        "limitCredits": 5000,
        "onLimit": "wait",
        "alertsAt": [50, 80, 100],
    });
    Operation::of(
        &CREATE_BUDGET,
        "Create a budget",
        "A run counts in the period in which its credits are reserved: with its hold until it is \
         settled, with its cost from then on. A run that would exceed a budget's limit is refused \
         (`block`: 402 with `details.budgetId`), waits in the queue (`wait`) or begins (`alert`). A budget that \
         is created in mid-period begins with the spent and reserved amounts. An organization has at most 50, \
         then 409.",
    )
    .body(BudgetBody.schema(schemas), example)
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<BudgetShape>(schemas, 201, "The budget."))
}

fn update(schemas: &mut Schemas) -> Operation {
    let example = json!({
        "name": "Acme in a month",
        "scope": { "tenantId": "acme" },
        "period": "month",
        "limitCredits": 8000,
        "onLimit": "block",
    });
    Operation::of(
        &UPDATE_BUDGET,
        "Replace a budget",
        "Replaces the whole budget. With another scope or period it counts from the amounts of that \
         period; else it continues to count.",
    ).path::<BudgetId>()
    .body(BudgetBody.schema(schemas), example)
    .answers(Success::of::<BudgetShape>(schemas, 200, "The budget."))
}
