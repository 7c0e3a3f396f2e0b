//! Operations of credits and usage.

use awo_domain::api_key::Scope;
use awo_domain::ledger::TransactionType;
use awo_domain::statement::Month;
use awo_domain::statement::Statement;
use serde_json::{Value, json};

use crate::credits::output::{BalanceShape, TransactionShape};
use crate::credits::prices::PriceListShape;
use crate::operation::{Operation, Success, plain_list};
use crate::page::DEFAULT_LIMIT as DEFAULT_PAGE;
use crate::routes::{Route, keyed, streaming};
use crate::schema::{Schemas, input, word};
use crate::usage::report::UsageReportShape;
use crate::usage::summary::UsageSummaryShape;

/// `GET /v1/credits`
pub const GET_CREDITS: Route = keyed("GET", "/v1/credits", Scope::CreditsRead, "get-credits");
/// `GET /v1/credits/usage`
pub const LIST_CREDIT_TRANSACTIONS: Route = keyed(
    "GET",
    "/v1/credits/usage",
    Scope::CreditsRead,
    "list-credit-transactions",
);
/// `GET /v1/prices`
pub const GET_PRICES: Route = keyed("GET", "/v1/prices", Scope::CreditsRead, "get-prices");
/// `GET /v1/statements`
pub const LIST_STATEMENTS: Route = keyed(
    "GET",
    "/v1/statements",
    Scope::CreditsRead,
    "list-statements",
);
/// `GET /v1/statements/{month}`
pub const GET_STATEMENT: Route = keyed(
    "GET",
    "/v1/statements/{month}",
    Scope::CreditsRead,
    "get-statement",
);
/// `GET /v1/usage/report`
pub const GET_USAGE_REPORT: Route = keyed(
    "GET",
    "/v1/usage/report",
    Scope::CreditsRead,
    "get-usage-report",
);
/// `GET /v1/exports/focus`
pub const EXPORT_FOCUS: Route = streaming(keyed(
    "GET",
    "/v1/exports/focus",
    Scope::CreditsRead,
    "export-focus",
));
/// `GET /api/v1/usage/summary`
pub const GET_USAGE_SUMMARY: Route = keyed(
    "GET",
    "/api/v1/usage/summary",
    Scope::CreditsRead,
    "get-usage-summary",
);

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    GET_CREDITS,
    LIST_CREDIT_TRANSACTIONS,
    GET_PRICES,
    LIST_STATEMENTS,
    GET_STATEMENT,
    GET_USAGE_REPORT,
    EXPORT_FOCUS,
    GET_USAGE_SUMMARY,
];

/// Page size of transactions where none is asked for.
const DEFAULT_LIMIT: u32 = 50;
/// Rows of a report where no number is asked for.
pub(super) const REPORT_LIMIT: u32 = 100;

/// Either end of a period.
pub(super) fn bound() -> Value {
    json!({ "type": "string", "examples": ["2026-11-20", "2026-11-20T08:00:00Z"] })
}

const FROM: &str = "The period's first moment: a day, or a time with an offset.";
const UNTIL: &str = "The first moment after the period.";

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let balance = Operation::of(
        &GET_CREDITS,
        "Get the credit balance",
        "The balance, the amount that holds of runs reserve, and the available remainder.",
    );
    let balance = balance.answers(Success::of::<BalanceShape>(schemas, 200, "The balance."));
    let summary = Operation::of(
        &GET_USAGE_SUMMARY,
        "Sum up usage",
        "Tokens, cost and executions of a period, by model. Runs count once their charge is final.",
    )
    .query(
        "workOrderId",
        schemas.of::<awo_domain::WorkOrderId>(),
        "Runs of this work order.",
    )
    .query("runId", schemas.of::<awo_domain::RunId>(), "This run.")
    .query(
        "model",
        json!({ "type": "string" }),
        "Only usage of this model.",
    )
    .query("startDate", bound(), FROM)
    .query("endDate", bound(), UNTIL)
    .answers(Success::of::<UsageSummaryShape>(
        schemas,
        200,
        "The summary.",
    ))
    .answers_also(
        200,
        "text/csv",
        json!({ "type": "string", "description": "The same by day and model." }),
    );
    let prices = Operation::of(
        &GET_PRICES,
        "List prices",
        "The present prices of calls of each model with a known price, and of compute. A model that is not in \
         the list has no price: its tokens are counted, and `unpricedModels` names it.",
    )
    .answers(Success::of::<PriceListShape>(schemas, 200, "The price list."));
    vec![
        balance,
        transactions(schemas),
        prices,
        statements(schemas),
        statement(schemas),
        summary,
        report(schemas),
        focus(),
    ]
}

fn statements(schemas: &mut Schemas) -> Operation {
    let page = plain_list("statements", &schemas.of::<Statement>());
    Operation::of(
        &LIST_STATEMENTS,
        "List statements",
        "The months of the ledger, newest first. A month is closed on the third day after its end and never \
         changes after that.",
    )
    .pages(DEFAULT_PAGE)
    .answers(Success::with(200, "A page of statements.", page))
    .answers_also(
        200,
        "text/csv",
        json!({ "type": "string", "description": "All of them, one a row." }),
    )
}

fn statement(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &GET_STATEMENT,
        "Get a statement",
        "The ledger of a month: opening balance + purchases − deductions + refunds = closing balance. \
         `corrections` has bookings about runs of earlier months. `hash` and `previousHash` chain \
         closed months.",
    ).path::<Month>()
    .answers(Success::of::<Statement>(schemas, 200, "The statement."))
    .answers_also(
        200,
        "text/csv",
        json!({ "type": "string", "description": "One amount a row." }),
    )
    .answers_also(
        200,
        "text/html",
        json!({ "type": "string", "description": "A page for print." }),
    )
}

fn focus() -> Operation {
    let pattern = |pattern: &str, example: &str| json!({ "type": "string", "pattern": pattern, "examples": [example] });
    let month = pattern("^[0-9]{4}-[0-9]{2}$", "2026-11");
    let day = pattern("^[0-9]{2}$", "20");
    Operation::of(
        &EXPORT_FOCUS,
        "Export charges as FOCUS",
        "The charges of a month, or of a day of it, as a Cost and Usage dataset of FOCUS 1.2 in CSV: a row \
         for each run, model and meter, for compute, refunds and purchases. The effective cost in credits of \
         all rows of usage is deductions less refunds. Rows of a past day are the same at each export. \
         An incomplete export ends with a line that begins with `# incomplete`. An organization has two exports at \
         once, then 429.",
    )
    .required_query("month", month, "The month, in UTC.")
    .query("day", day, "This day of it alone.")
    .answers(Success::file("The rows, after a line with the columns' names."))
    .answers_also(200, "text/csv", json!({ "type": "string", "description": "The rows." }))
}

fn report(schemas: &mut Schemas) -> Operation {
    let text = || json!({ "type": "string" });
    let groups = "The groups of rows: `model` (the default), `tenant`, `tenantUser`, `repository`, \
                  `agent`, `harness`, `key`, `outcome` or `label:<name>`, or `model,` and one of the others.";
    let mut report = Operation::of(
        &GET_USAGE_REPORT,
        "Report costs",
        "The amounts booked in a period, by settlement. Without filters, credits less refunds agree with \
         the ledger of the same period, for every grouping. In groups by model, \
         compute has the model `(compute)`, and a run counts once for each model that it used. \
         A cost label filters as `label:<name>`.",
    )
    .query("from", bound(), FROM)
    .query("to", bound(), UNTIL)
    .query("groupBy", text(), groups)
    .query(
        "bucket",
        input(
            "UsageReportBucket",
            "A period into which the rows of a report are divided.",
            word(["none", "day", "month"]),
        ),
        "The periods of rows; the default is `none`.",
    )
    .query("model", text(), "Only of this model.");
    for (name, description) in [
        ("tenant", "Only of this tenant."),
        ("tenantUser", "Only of this user of a tenant."),
        ("repository", "Only of this repository."),
        ("agent", "Only of this agent type."),
        ("harness", "Only of this profile."),
        (
            "key",
            "Only of work orders that the key with this id created.",
        ),
        ("outcome", "Only of runs with this outcome."),
    ] {
        report = report.query(name, text(), description);
    }
    report
        .pages(REPORT_LIMIT)
        .answers(Success::of::<UsageReportShape>(
            schemas,
            200,
            "A page of the report.",
        ))
        .answers_also(
            200,
            "text/csv",
            json!({ "type": "string", "description": "All its rows." }),
        )
}

fn transactions(schemas: &mut Schemas) -> Operation {
    let list = plain_list("transactions", &schemas.of::<TransactionShape>());
    Operation::of(
        &LIST_CREDIT_TRANSACTIONS,
        "List credit transactions",
        "Newest first. Amounts are always positive; the type determines the direction.",
    )
    .query("startDate", bound(), FROM)
    .query("endDate", bound(), UNTIL)
    .tenants()
    .query(
        "type",
        schemas.of::<TransactionType>(),
        "Those of this type.",
    )
    .pages(DEFAULT_LIMIT)
    .answers(Success::with(200, "A page of transactions.", list))
}
