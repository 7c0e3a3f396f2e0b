//! Operations of credits and usage.

use awo_domain::ledger::TransactionType;
use awo_http::routes;
use awo_http::shapes::{BalanceShape, TransactionShape};
use awo_usage::report::UsageReportShape;
use awo_usage::shape::UsageSummaryShape;
use serde_json::{Value, json};

use crate::document::operation::{Operation, Success, plain_list};
use crate::document::schema::Schemas;

/// Page size of transactions where none is asked for.
const DEFAULT_LIMIT: u32 = 50;
/// Rows of a report where no number is asked for.
const REPORT_LIMIT: u32 = 100;

/// Either end of a period.
fn bound() -> Value {
    json!({ "type": "string", "examples": ["2026-11-20", "2026-11-20T08:00:00Z"] })
}

const FROM: &str = "The period's first moment: a day, or a time with an offset.";
const UNTIL: &str = "The first moment after the period.";

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let balance = Operation::of(
        &routes::GET_CREDITS,
        "Get the credit balance",
        "What is there, what holds of runs reserve, and what is left of it.",
    );
    let balance = balance.answers(Success::of::<BalanceShape>(schemas, 200, "The balance."));
    let summary = Operation::of(
        &routes::GET_USAGE_SUMMARY,
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
        "What this model was used for.",
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
    vec![balance, transactions(schemas), summary, report(schemas)]
}

fn report(schemas: &mut Schemas) -> Operation {
    let text = || json!({ "type": "string" });
    let groups = "What rows are told apart by: `model` (without it), `tenant`, `tenantUser`, `repository`, \
                  `agent`, `harness`, `key`, `outcome` or `label:<name>`, or `model,` and one of the others.";
    let mut report = Operation::of(
        &routes::GET_USAGE_REPORT,
        "Report costs",
        "What was booked in a period, by settlement. Without filters, credits less refunds are what \
         the ledger says of the same period, whatever they are grouped by. Where models are told apart, \
         compute stands in the model `(compute)`, and a run counts once for each model that it used. \
         A cost label filters as `label:<name>`.",
    )
    .query("from", bound(), FROM)
    .query("to", bound(), UNTIL)
    .query("groupBy", text(), groups)
    .query(
        "bucket",
        json!({ "type": "string", "enum": ["none", "day", "month"] }),
        "Into what periods rows are divided; `none` without it.",
    )
    .query("model", text(), "Only of this model.");
    for (name, says) in [
        ("tenant", "Only of this tenant."),
        ("tenantUser", "Only of this user of a tenant."),
        ("repository", "Only of this repository."),
        ("agent", "Only of this agent type."),
        ("harness", "Only of this profile."),
        (
            "key",
            "Only of work orders that the key with this id created.",
        ),
        ("outcome", "Only of runs that ended so."),
    ] {
        report = report.query(name, text(), says);
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
        &routes::LIST_CREDIT_TRANSACTIONS,
        "List credit transactions",
        "Newest first. Amounts are always positive; the type says the direction.",
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
