//! Operations of budgets.

use awo_contract::Field;
use awo_contract::budgets::input::BudgetBody;
use awo_contract::budgets::output::BudgetShape;
use awo_http::page::DEFAULT_LIMIT;
use awo_http::routes;
use serde_json::json;

use crate::document::errors::Failure;
use crate::document::operation::{Operation, Success, plain_list};
use awo_contract::schema::Schemas;

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("budgets", &schemas.of::<BudgetShape>());
    let list = Operation::of(&routes::LIST_BUDGETS, "List budgets", "Newest first.");
    let get = Operation::of(
        &routes::GET_BUDGET,
        "Get a budget",
        "Each has the amounts that count against its limit in the present period.",
    );
    let delete = Operation::of(
        &routes::DELETE_BUDGET,
        "Delete a budget",
        "Nothing counts against it any more, and runs that waited for it can begin.",
    );
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
        &routes::CREATE_BUDGET,
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
        &routes::UPDATE_BUDGET,
        "Replace a budget",
        "Replaces the whole budget. With another scope or period it counts from the amounts of that \
         period; else it continues to count.",
    )
    .body(BudgetBody.schema(schemas), example)
    .answers(Success::of::<BudgetShape>(schemas, 200, "The budget."))
}
