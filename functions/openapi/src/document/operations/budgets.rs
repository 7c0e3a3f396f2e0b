//! Operations of budgets.

use awo_budgets::shape::BudgetShape;
use awo_domain::budget::{MAX_ALERTS, MAX_NAME, OnLimit, Period};
use awo_http::page::DEFAULT_LIMIT;
use awo_http::routes;
use serde_json::{Value, json};

use crate::document::errors::Failure;
use crate::document::operation::{Operation, Success, plain_list};
use crate::document::schema::{Schemas, described, list, object, text, word};

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("budgets", &schemas.of::<BudgetShape>());
    let list = Operation::of(&routes::LIST_BUDGETS, "List budgets", "Newest first.");
    let get = Operation::of(
        &routes::GET_BUDGET,
        "Get a budget",
        "With what counts against its limit in the present period.",
    );
    let delete = Operation::of(
        &routes::DELETE_BUDGET,
        "Delete a budget",
        "Nothing counts against it any more, and what waited for it may begin.",
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
        "A run counts in the period in which its credits are reserved: with what it reserves until it is \
         settled, with what it cost from then on. What would take a budget above its limit is refused \
         (`block`: 402 with `details.budgetId`), waits in the queue (`wait`) or begins (`alert`). A budget that \
         is created in mid-period begins with what was spent and is reserved. At most 50 an organization, \
         else 409.",
    )
    .body(object(content()), example)
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
        "Replaces all that is set of it. With another scope or period it counts anew, with what that \
         period had before; else it goes on counting.",
    )
    .body(object(content()), example)
    .answers(Success::of::<BudgetShape>(schemas, 200, "The budget."))
}

fn content() -> Vec<(&'static str, Value)> {
    let id = || text(1..=1_000);
    let label = object([("name!", id()), ("value!", id())]);
    let scope = object([
        ("tenantId", id()),
        ("tenantUserId", described(id(), "Together with `tenantId`.")),
        ("keyId", id()),
        (
            "label",
            described(
                label,
                "A cost label; the value `(none)` is that of runs without it.",
            ),
        ),
    ]);
    let scope = described(
        scope,
        "Whose runs count: of the organization (without it, or `{}`), or of one of these.",
    );
    let percent = json!({ "type": "integer", "minimum": 1, "maximum": 100 });
    vec![
        ("name!", text(1..=MAX_NAME)),
        ("scope", scope),
        ("period!", word(Period::ALL.map(Period::as_str))),
        (
            "limitCredits!",
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000_000 }),
        ),
        ("onLimit!", word(OnLimit::ALL.map(OnLimit::as_str))),
        ("alertsAt", list(&percent, 0..=MAX_ALERTS)),
    ]
}
