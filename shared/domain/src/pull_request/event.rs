//! The events of pull requests: of an organization, and of no run.

use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::money::MicroCredits;
use crate::schema::TypeSchema;
use crate::webhook::OrganizationEvent;
use crate::{Timestamp, WorkOrderId};

/// A pull request of a thread was merged.
pub const PULL_REQUEST_MERGED: OrganizationEvent = OrganizationEvent {
    name: "pull_request.merged",
    description: "A pull request to which runs of a thread delivered was merged.",
    data: TypeSchema::of::<PullRequestChangedData>(),
    sample,
};

/// A pull request of a thread was closed without a merge.
pub const PULL_REQUEST_CLOSED: OrganizationEvent = OrganizationEvent {
    name: "pull_request.closed",
    description: "A pull request to which runs of a thread delivered was closed without a merge. It may be reopened.",
    data: TypeSchema::of::<PullRequestChangedData>(),
    sample,
};

/// Data of `pull_request.merged` and `pull_request.closed`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PullRequestChangedData {
    /// The thread: the id of its first work order.
    pub thread_id: WorkOrderId,
    /// The work order that delivered to the pull request last.
    pub work_order_id: WorkOrderId,
    /// The page of the pull request.
    pub pr_url: String,
    /// The cost of the thread so far.
    pub cost: OutcomeCost,
}

/// The cost of a thread, as outcomes count it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeCost {
    /// Credits of all its runs, less refunds.
    pub credits: MicroCredits,
}

fn sample(now: Timestamp) -> serde_json::Value {
    let id = WorkOrderId::new(now, 1);
    json!(PullRequestChangedData {
        thread_id: id.clone(),
        work_order_id: id,
        pr_url: "https://github.com/acme/shop/pull/7".to_owned(),
        cost: OutcomeCost {
            credits: MicroCredits::from_credits(42),
        },
    })
}
