//! Operations of outcomes.

use awo_domain::api_key::Scope;
use serde_json::json;

use super::credits::{REPORT_LIMIT, bound};
use crate::operation::{Operation, Success};
use crate::outcomes::OutcomeReportShape;
use crate::routes::{Route, keyed};
use crate::schema::Schemas;

/// `GET /v1/outcomes`
pub const GET_OUTCOMES: Route = keyed("GET", "/v1/outcomes", Scope::CreditsRead, "get-outcomes");

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[GET_OUTCOMES];

const FROM: &str = "Threads whose first work order was created then or later: a day, or a time with an offset. \
                    The default is this month.";
const UNTIL: &str = "The first moment after the period.";
const GROUPS: &str = "The groups of rows: `agent`, `harness`, `repository`, `tenant`, `trigger` (the trigger or \
                      schedule that created the thread) or `label:<name>`, as of the first work order. Without it \
                      there is one row.";

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let outcomes = Operation::of(
        &GET_OUTCOMES,
        "Report outcomes",
        "What became of the threads that were created in a period: their pull requests, and what all their runs \
         cost. A thread may have several pull requests. The credits of all groups together are the deductions less \
         refunds of these threads' runs in the ledger, children and manual verifications included. A month that \
         is closed shows what was known when it closed (`asOf`).",
    )
    .query("from", bound(), FROM)
    .query("to", bound(), UNTIL)
    .query("groupBy", json!({ "type": "string" }), GROUPS)
    .pages(REPORT_LIMIT)
    .answers(Success::of::<OutcomeReportShape>(
        schemas,
        200,
        "A page of the report.",
    ))
    .answers_also(
        200,
        "text/csv",
        json!({ "type": "string", "description": "All its rows." }),
    );
    vec![outcomes]
}
