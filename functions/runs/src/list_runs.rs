//! `GET /v1/runs`: newest first, by work order, status and tenant.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::runs::output::RunShape;
use awo_domain::run::RunStatus;
use awo_domain::{Error, RunId, WorkOrderId};
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::runs::RunFilter;
use serde_json::json;

/// The function `list-runs`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_RUNS, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let statuses = RunStatus::ALL.map(RunStatus::as_str).join(", ");
    let filter = RunFilter {
        work_order_id: query.parsed("workOrderId", "must be the id of a work order", |t| {
            WorkOrderId::parse(t).ok()
        }),
        status: query.parsed(
            "status",
            &format!("must be one of {statuses}"),
            RunStatus::parse,
        ),
        tenant_id: query.text("tenantId"),
    };
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, &format!("{filter:?}"));
    query.finish()?;
    let after = paging.after.as_deref().and_then(|id| RunId::parse(id).ok());
    let window = (paging.limit, paging.offset);
    let (page, total) = store
        .runs(call.org(), &filter, window, after.as_ref())
        .await?;
    let next = page
        .items
        .last()
        .filter(|_| page.has_more)
        .map(|run| run.run_id.as_str());
    let items = page
        .items
        .iter()
        .map(|run| json!(RunShape::from(run)))
        .collect();
    Answer::ok(paging.body("runs", items, total, next))
}
