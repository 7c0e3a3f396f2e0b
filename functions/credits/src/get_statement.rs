//! `GET /v1/statements/{month}`: the statement of a month; as CSV and for print, too.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::{statement_csv, statement_page};

/// The function `get-statement`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_STATEMENT, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let month = call.path_id()?;
    call.query().finish()?;
    // Boxed: the calls below are deep, and the compiler lays out futures whole.
    let statement = Box::pin(store.statement(call.org(), &month, call.now)).await?;
    let statement = statement.ok_or(Error::NotFound(Resource::Statement))?;
    if call.accepts("text/csv") {
        return Ok(Answer::csv(statement_csv::month(&statement)));
    }
    if call.accepts("text/html") {
        return Ok(Answer::html(statement_page::page(&statement, call.org())));
    }
    Answer::ok(statement)
}
