//! `GET /v1/outcomes`: what became of the threads that were created in a period, and what they cost; also as CSV.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::outcomes::{OutcomeQuery, OutcomeReportShape};
use awo_domain::outcome::OutcomeDimension;
use awo_domain::{Error, Timestamp};
use awo_http::page::Paging;
use awo_http::query::Query;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::outcomes;
use crate::period::span;

/// Rows of a page where no number is asked for.
const DEFAULT_LIMIT: u32 = 100;
const GROUPS: &str = "must be one of agent, harness, repository, tenant, trigger and label:<name>";

/// The function `get-outcomes`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_OUTCOMES, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let request = request(&query, call.now);
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, &format!("{request:?}"));
    query.finish()?;
    let by = request.by.as_ref();
    let report = store
        .outcomes(call.org(), request.span, by, call.now)
        .await?;
    if call.accepts("text/csv") {
        return Ok(Answer::csv(outcomes::csv(by, &report)));
    }
    let after = paging.after.as_deref().and_then(|row| row.parse().ok());
    let first: usize = after.unwrap_or(paging.offset as usize);
    let end = first.saturating_add(paging.limit as usize);
    let next = (end < report.rows.len()).then(|| paging.cursor(&end.to_string()));
    let page = OutcomeReportShape::of(&request, &report, first..end, next.flatten(), call.now);
    Answer::ok(page)
}

fn request(query: &Query, now: Timestamp) -> OutcomeQuery {
    OutcomeQuery {
        by: query.parsed("groupBy", GROUPS, OutcomeDimension::parse),
        span: span(query, now),
    }
}
