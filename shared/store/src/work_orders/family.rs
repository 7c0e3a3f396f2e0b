//! The children of a work order as a whole, from its run's perspective: which of them count,
//! whether all have ended, and their results.

use awo_domain::control::ChildResult;
use awo_domain::run::RunStatus;
use awo_domain::source::Repository;
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};
use futures::future::try_join_all;

use crate::Store;
use crate::runs::Run;
use crate::work_orders::WorkOrder;

/// Children that count for a run of their parent: all but those that failed or were canceled
/// before that run was created.
#[derive(Debug, Clone, Default)]
pub struct Family {
    children: Vec<Child>,
}

#[derive(Debug, Clone)]
struct Child {
    id: WorkOrderId,
    /// None once it is purged.
    known: Option<(WorkOrder, Run)>,
}

impl Child {
    fn status(&self) -> Option<WorkOrderStatus> {
        self.known.as_ref().map(|(order, _)| order.status)
    }

    /// When it ended without success, if it did; of one that is purged its creation is known.
    fn failed_at(&self) -> Option<Timestamp> {
        match &self.known {
            None => Some(self.id.made_at()),
            Some((order, run)) if is_failure(order.status) => {
                Some(run.completed_at.unwrap_or(run.created_at))
            }
            Some(_) => None,
        }
    }
}

fn is_failure(status: WorkOrderStatus) -> bool {
    status.is_terminal() && status != WorkOrderStatus::Succeeded
}

impl Family {
    /// True if no child counts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// True while one has not ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let open = |status: WorkOrderStatus| !status.is_terminal();
        self.children.iter().any(|c| c.status().is_some_and(open))
    }

    /// Why the parent cannot go on, if one ended without success: in the words of its run's error.
    #[must_use]
    pub fn why_failed(&self) -> Option<String> {
        let failed = self.children.iter().find(|c| c.failed_at().is_some())?;
        let how = match failed.status() {
            None => "was purged".to_owned(),
            Some(WorkOrderStatus::Canceled) => "was canceled".to_owned(),
            Some(status) => status.as_str().to_owned(),
        };
        Some(format!(
            "the child {} {how}: start it again and then this work order, or leave it",
            failed.id
        ))
    }

    /// What those have done that worked on this repository, oldest first.
    #[must_use]
    pub fn results(&self, repository: &Repository) -> Vec<ChildResult> {
        let known = self.children.iter().filter_map(|c| c.known.as_ref());
        known
            .filter(|(order, run)| {
                order.source.repository == *repository && run.status == RunStatus::Succeeded
            })
            .map(|(order, run)| ChildResult {
                work_order_id: order.id.clone(),
                commit: run.commit.clone(),
                branch: run.branch.clone(),
            })
            .collect()
    }
}

impl Store {
    /// The children of a work order that count for its newest run.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn family(&self, org: &OrgId, order: &WorkOrder, run: &Run) -> Result<Family, Error> {
        if order.children == 0 {
            return Ok(Family::default());
        }
        let ids = self.child_ids(org, &order.id).await?;
        let each = ids.into_iter().map(|id| Box::pin(self.child(org, id)));
        let mut children = try_join_all(each).await?;
        children.retain(|c| c.failed_at().is_none_or(|at| at >= run.created_at));
        Ok(Family { children })
    }

    async fn child(&self, org: &OrgId, id: WorkOrderId) -> Result<Child, Error> {
        let known = match self.work_order(org, &id).await? {
            Some(order) => {
                let run = self.run(org, &order.run_id).await?;
                run.map(|run| (order, run))
            }
            None => None,
        };
        Ok(Child { id, known })
    }
}
