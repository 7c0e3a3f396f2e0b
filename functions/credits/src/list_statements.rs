//! `GET /v1/statements`: the months of the ledger, newest first; as CSV, too.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_domain::statement::Statement;
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use serde_json::json;

use crate::statement_csv;

/// The function `list-statements`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_STATEMENTS, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, "");
    query.finish()?;
    // Boxed: the calls below are deep, and the compiler lays out futures whole.
    let all = Box::pin(store.statements(call.org(), call.now)).await?;
    if call.accepts("text/csv") {
        return Ok(Answer::csv(statement_csv::months(&all)));
    }
    let place = |statement: &Statement| statement.month.to_string();
    Answer::ok(paging.of_sorted("statements", &all, place, |statement| json!(statement)))
}
