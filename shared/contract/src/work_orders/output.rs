//! Work orders as the API shows them.

use awo_domain::environment::EnvironmentName;
use awo_domain::pull_request::PullRequest;
use awo_domain::schedule::Origin;
use awo_domain::work_order::{Terms, WorkOrderStatus};
use awo_domain::{RunId, TaskPrompt, Timestamp, WorkOrderId};
use awo_store::work_orders::WorkOrder;
use serde::Serialize;
use utoipa::ToSchema;

use super::pull_request::PullRequestShape;

/// A workspace source.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WorkspaceSourceShape<'a> {
    /// Always `git`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The URL of the repository.
    repository: &'a str,
    /// The branch; absent for the remote's default branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    /// The commit that a `verify` order is about; absent for the branch's head.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
}

/// A work order.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkOrderShape<'a> {
    /// Its id.
    id: &'a WorkOrderId,
    /// The agent's task.
    task_prompt: &'a str,
    /// Its thread: the id of the first turn.
    thread_id: &'a WorkOrderId,
    /// Its turn of the thread, from 1.
    turn: u32,
    /// The turn before; absent of the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    continues: Option<&'a WorkOrderId>,
    /// Where its workspace comes from; of a template, what it resolved to.
    workspace_source: WorkspaceSourceShape<'a>,
    /// Its newest run.
    run_id: &'a RunId,
    /// Its status.
    status: WorkOrderStatus,
    /// The most iterations that a run of it may have.
    max_iterations: u32,
    #[serde(flatten)]
    #[schema(inline)]
    terms: &'a Terms,
    /// The environment of its runs, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<&'a EnvironmentName>,
    /// The schedule that created it; absent if a client did.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'a Origin>,
    /// The pull request that it delivered to; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pull_request: Option<PullRequestShape<'a>>,
    /// True if it succeeded and its newest run is verified.
    verified: bool,
    /// When it was created.
    created_at: Timestamp,
}

impl<'a> WorkOrderShape<'a> {
    /// A work order with its prompt, and with its pull request if it has one.
    #[must_use]
    pub fn of(
        order: &'a WorkOrder,
        task_prompt: &'a TaskPrompt,
        pull_request: Option<&'a PullRequest>,
    ) -> WorkOrderShape<'a> {
        WorkOrderShape {
            id: &order.id,
            task_prompt: task_prompt.as_str(),
            thread_id: order.thread_id(),
            turn: order.turn(),
            continues: order.place.as_ref().map(|place| &place.continues),
            workspace_source: WorkspaceSourceShape {
                kind: "git",
                repository: order.source.repository.as_str(),
                branch: order.source.branch.as_ref().map(|b| b.as_str()),
                commit: order.source.commit.as_ref().map(|c| c.as_str()),
            },
            run_id: &order.run_id,
            status: order.status,
            max_iterations: order.max_iterations,
            terms: &order.terms,
            environment: order.environment.as_ref(),
            origin: order.origin.as_ref(),
            pull_request: pull_request.map(PullRequestShape::of),
            verified: order.verified,
            created_at: order.created_at,
        }
    }
}
