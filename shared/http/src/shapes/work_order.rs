//! Work orders as the API shows them.

use std::collections::BTreeMap;

use awo_domain::agent::Agent;
use awo_domain::work_order::{Limits, TenantContext, WorkOrderStatus};
use awo_domain::{RunId, Timestamp, WorkOrderId};
use awo_store::work_orders::WorkOrder;
use serde::Serialize;
use utoipa::ToSchema;

/// A workspace source.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WorkspaceSourceShape<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    repository: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
}

/// A work order.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkOrderShape<'a> {
    id: &'a WorkOrderId,
    task_prompt: &'a str,
    workspace_source: WorkspaceSourceShape<'a>,
    run_id: &'a RunId,
    status: WorkOrderStatus,
    max_iterations: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_context: Option<&'a TenantContext>,
    harness: &'a str,
    agent: &'a Agent,
    #[serde(skip_serializing_if = "is_default")]
    limits: Limits,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<&'a WorkOrderId>,
    /// True if it succeeded and its newest run is verified.
    verified: bool,
    created_at: Timestamp,
}

fn is_default(limits: &Limits) -> bool {
    *limits == Limits::default()
}

impl<'a> From<&'a WorkOrder> for WorkOrderShape<'a> {
    fn from(order: &'a WorkOrder) -> WorkOrderShape<'a> {
        WorkOrderShape {
            id: &order.id,
            task_prompt: &order.task_prompt,
            workspace_source: WorkspaceSourceShape {
                kind: "git",
                repository: order.source.repository.as_str(),
                branch: order.source.branch.as_ref().map(|b| b.as_str()),
            },
            run_id: &order.run_id,
            status: order.status,
            max_iterations: order.max_iterations,
            tenant_context: order.tenant_context.as_ref(),
            harness: &order.harness,
            agent: &order.agent,
            limits: order.limits,
            metadata: &order.metadata,
            parent_id: order.parent_id.as_ref(),
            verified: order.verified,
            created_at: order.created_at,
        }
    }
}
