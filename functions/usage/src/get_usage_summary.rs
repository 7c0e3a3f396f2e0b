//! `GET /api/v1/usage/summary`: the usage of finished runs, in all and by model; also as CSV by
//! day.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::usage::summary::UsageSummaryShape;
use awo_domain::{Error, RunId, WorkOrderId};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::usage::summary::UsageFilter;

use crate::csv;

/// The function `get-usage-summary`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_USAGE_SUMMARY, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let filter = UsageFilter {
        run_id: query.parsed("runId", "must be the id of a run", |text| {
            RunId::parse(text).ok()
        }),
        work_order_id: query.parsed("workOrderId", "must be the id of a work order", |text| {
            WorkOrderId::parse(text).ok()
        }),
        model: query.text("model"),
        span: query.span(),
    };
    query.finish()?;
    let summary = store.usage_summary(call.org(), &filter).await?;
    if call.accepts("text/csv") {
        return Ok(Answer::csv(csv::text(&summary)));
    }
    Answer::ok(UsageSummaryShape::of(&summary, filter.span, call.now))
}
