//! `GET /v1/work-orders`: newest first, by status, tenant, parent, thread and schedule.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::work_orders::output::WorkOrderShape;
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, ScheduleId, TriggerId, WorkOrderId};
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::work_orders::WorkOrderFilter;
use serde_json::json;

/// The function `list-work-orders`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_WORK_ORDERS, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let statuses = WorkOrderStatus::ALL.map(WorkOrderStatus::as_str).join(", ");
    let filter = WorkOrderFilter {
        status: query.parsed(
            "status",
            &format!("must be one of {statuses}"),
            WorkOrderStatus::parse,
        ),
        tenant_id: query.text("tenantId"),
        tenant_user_id: query.text("tenantUserId"),
        parent_id: query.parsed("parentId", "must be the id of a work order", |text| {
            WorkOrderId::parse(text).ok()
        }),
        thread_id: query.parsed("threadId", "must be the id of a thread", |text| {
            WorkOrderId::parse(text).ok()
        }),
        schedule_id: query.parsed("scheduleId", "must be the id of a schedule", |text| {
            ScheduleId::parse(text).ok()
        }),
        trigger_id: query.parsed("triggerId", "must be the id of a trigger", |text| {
            TriggerId::parse(text).ok()
        }),
    };
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, &format!("{filter:?}"));
    query.finish()?;
    let after = paging
        .after
        .as_deref()
        .and_then(|id| WorkOrderId::parse(id).ok());
    let window = (paging.limit, paging.offset);
    let (page, total) = store
        .work_orders(call.org(), &filter, window, after.as_ref())
        .await?;
    let next = page
        .items
        .last()
        .filter(|_| page.has_more)
        .map(|order| order.id.as_str());
    let (prompts, pull_requests) = tokio::try_join!(
        store.prompts(call.org(), &page.items),
        store.pull_requests_of(call.org(), &page.items),
    )?;
    // Those that were purged meanwhile have none.
    let items = page
        .items
        .iter()
        .zip(prompts.iter().zip(&pull_requests))
        .filter_map(|(order, (prompt, pull))| {
            let shape = WorkOrderShape::of(order, prompt.as_ref()?, pull.as_ref());
            Some(json!(shape))
        })
        .collect();
    Answer::ok(paging.body("workOrders", items, total, next))
}
