//! Stops of a tree of work orders: each parent's children are stopped as the parent was, and
//! theirs. Each stop records what remains to be done, so the sweep continues an interrupted one, or
//! one that exceeds a caller's time.

use std::time::{Duration, Instant};

use awo_domain::control::StopRequest;
use awo_domain::{Error, OrgId, WorkOrderId};
use awo_store::Tries;
use awo_store::work_orders::WorkOrder;
use awo_store::work_orders::cascades::{Cascade, FamilyStop};

use crate::stopper::Stopper;

/// How long one call continues to stop children: a function for callers has 29 s.
const STOP_LIMIT: Duration = Duration::from_secs(8);

impl Stopper {
    /// Does what is to be done around a work order that was stopped: its parent may go on or fail,
    /// and its children are stopped like it if the client means them.
    pub(crate) async fn stop_family(&self, org: &OrgId, stopped: &WorkOrder) {
        if stopped.children > 0 {
            match self.store.cascade(org, &stopped.id).await {
                Ok(Some(cascade)) => self.cascade(cascade).await,
                Ok(None) => {}
                Err(error) => left_to_sweep(&stopped.id, &error),
            }
        }
        let now = self.clock.now();
        self.endings.notify_parent(org, stopped, now).await;
    }

    /// Stops the children of a work order, and theirs, as far as there is time.
    pub async fn cascade(&self, first: Cascade) {
        let (began, mut todo) = (Instant::now(), vec![first]);
        while let Some(cascade) = todo.pop() {
            if began.elapsed() > STOP_LIMIT {
                return;
            }
            // Boxed: the calls below are deep, and the compiler lays out futures whole.
            match Box::pin(self.stop_children(&cascade)).await {
                Ok(further) => todo.extend(further),
                Err(error) => left_to_sweep(&cascade.work_order_id, &error),
            }
        }
    }

    /// Stops the children of one work order; what is to be done below them.
    async fn stop_children(&self, cascade: &Cascade) -> Result<Vec<Cascade>, Error> {
        let (org, mut further) = (&cascade.org_id, Vec::new());
        for child in self.store.child_ids(org, &cascade.work_order_id).await? {
            let Some(stopped) = self.stop_child(cascade, &child).await? else {
                continue;
            };
            if stopped.children > 0 {
                further.extend(self.store.cascade(org, &stopped.id).await?);
            }
        }
        self.store.end_cascade(cascade).await?;
        Ok(further)
    }

    /// None if there was nothing to stop: it is over, purged, or was started again since.
    async fn stop_child(
        &self,
        cascade: &Cascade,
        id: &WorkOrderId,
    ) -> Result<Option<WorkOrder>, Error> {
        let (org, stop_request) = (&cascade.org_id, cascade.stop_request);
        let stopping = FamilyStop {
            stop: &cascade.stop,
            children: Some(stop_request),
        };
        let mut tries = Tries::failing_with(Error::internal("cascade: a child kept changing"));
        loop {
            tries.next().await?;
            let found = match self.find(org, id).await {
                Ok(found) => found,
                Err(Error::NotFound(_)) => return Ok(None),
                Err(error) => return Err(error),
            };
            let later = found.run.created_at > cascade.recorded_at;
            if later || found.order.status.is_terminal() {
                return Ok(None);
            }
            match stop_request {
                StopRequest::Cancel => {
                    if self.try_cancel(org, &found, &stopping, false).await? {
                        return Ok(Some(found.order));
                    }
                }
                StopRequest::Kill { .. } => {
                    let (order, _) = self.request_kill(org, id, stop_request, &stopping).await?;
                    return Ok(Some(order));
                }
            }
        }
    }
}

fn left_to_sweep(parent: &WorkOrderId, error: &Error) {
    tracing::warn!(event = "children_not_stopped", work_order = %parent, ?error, "children could not be stopped; the sweep stops them");
}
