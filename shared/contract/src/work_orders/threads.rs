//! Threads as the API shows them.

use std::collections::HashMap;

use awo_domain::money::MicroCredits;
use awo_domain::pull_request::PullRequest;
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{RunId, Timestamp, WorkOrderId};
use awo_store::runs::Run;
use awo_store::work_orders::WorkOrder;
use awo_store::work_orders::threads::Thread;
use serde::Serialize;
use utoipa::ToSchema;

use super::pull_request::PullRequestShape;

/// A thread.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Thread)]
pub struct ThreadShape<'a> {
    /// Its id: that of its first work order.
    thread_id: &'a WorkOrderId,
    /// The URL of the repository.
    repository: &'a str,
    /// The branch on the origin that has the last delivery; absent before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    /// The commit with which the first turn began; absent before that.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_commit: Option<&'a str>,
    /// The commit that was delivered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    head_commit: Option<&'a str>,
    /// The pull request of the last delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pull_request: Option<PullRequestShape<'a>>,
    /// The turns in order, but those that were purged.
    turns: Vec<TurnShape<'a>>,
    /// Cost of all runs of these turns.
    cost: ThreadCostShape,
}

/// A turn of a thread.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TurnShape<'a> {
    /// From 1.
    turn: u32,
    /// Its work order.
    work_order_id: &'a WorkOrderId,
    /// The newest run of the work order.
    run_id: &'a RunId,
    /// Status of the work order.
    status: WorkOrderStatus,
    /// The last commit of the run, if it made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    /// True if it succeeded and its newest run is verified.
    verified: bool,
    /// When the work order was created.
    created_at: Timestamp,
}

/// The cost of a thread.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ThreadCostShape {
    /// Credits in all.
    credits: f64,
}

impl<'a> ThreadShape<'a> {
    /// A thread with its turns, their newest runs, its pull request and the cost of all runs.
    #[must_use]
    pub fn of(
        id: &'a WorkOrderId,
        thread: &'a Thread,
        turns: &'a [WorkOrder],
        runs: &'a HashMap<RunId, Run>,
        pull_request: Option<&'a PullRequest>,
        cost: MicroCredits,
    ) -> ThreadShape<'a> {
        let newest = |order: &WorkOrder| runs.get(&order.run_id);
        let delivered = (turns.iter().rev())
            .filter_map(newest)
            .find(|run| run.branch.is_some());
        let first = turns.first().and_then(newest);
        let base = thread.base_commit.as_deref();
        ThreadShape {
            thread_id: id,
            repository: turns
                .first()
                .map_or("", |order| order.source.repository.as_str()),
            branch: (thread.branch.as_deref()).or(delivered.and_then(|run| run.branch.as_deref())),
            base_commit: base.or(first.and_then(|run| run.base.as_deref())),
            head_commit: (thread.head_commit.as_deref())
                .or(delivered.and_then(|run| run.commit.as_deref())),
            pull_request: pull_request.map(PullRequestShape::of),
            turns: turns
                .iter()
                .map(|order| TurnShape {
                    turn: order.turn(),
                    work_order_id: &order.id,
                    run_id: &order.run_id,
                    status: order.status,
                    commit: newest(order).and_then(|run| run.commit.as_deref()),
                    verified: order.verified,
                    created_at: order.created_at,
                })
                .collect(),
            cost: ThreadCostShape {
                credits: cost.to_decimal(),
            },
        }
    }
}
