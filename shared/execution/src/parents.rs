//! Work orders that wait for their children. Each end of a child, and each return of a parent's
//! slot, examines whether the parent can continue. The sweep does so as well, so a lost examination
//! does no harm; every change is conditional, so a repeated one does none.

use awo_cloud::queue::WakeUp;
use awo_domain::run::{RunEnd, RunError, RunErrorCode};
use awo_domain::work_order::{MAX_DEPTH, WorkOrderStatus};
use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};
use awo_store::Tries;
use awo_store::runs::lifecycle::end::RunView;
use awo_store::work_orders::WorkOrder;

use crate::endings::{Endings, PaidUntil};

/// The outcome of an examination of a parent.
enum Examination {
    /// It is as it has to be.
    Well,
    /// It has failed, and its own parent may be waiting for that.
    Failed(Option<WorkOrderId>),
    /// It has changed meanwhile: examine again.
    Changed,
}

impl Endings {
    /// Lets a work order go on whose children have ended, or fails it if one of them did not
    /// succeed; then the same for its own parent.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn wake_parent(
        &self,
        org: &OrgId,
        parent: &WorkOrderId,
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut next = Some(parent.clone());
        for _ in 0..=MAX_DEPTH {
            let Some(id) = next else {
                return Ok(());
            };
            next = self.wake_one_parent(org, &id, now).await?;
        }
        Ok(())
    }

    /// As [`Endings::wake_parent`]; what goes wrong is left to the sweep.
    pub async fn wake_parent_or_leave_to_sweep(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
        now: Timestamp,
    ) {
        if let Err(error) = Box::pin(self.wake_parent(org, id, now)).await {
            tracing::warn!(event = "parent_not_read", work_order = %id, ?error, "a parent could not be examined; the sweep examines it");
        }
    }

    /// Notifies the parent of a work order that has ended, if it has one.
    pub async fn notify_parent(&self, org: &OrgId, ended: &WorkOrder, now: Timestamp) {
        if let Some(parent) = &ended.terms.parent_id {
            self.wake_parent_or_leave_to_sweep(org, parent, now).await;
        }
    }

    /// The parent's own parent, if that is to be examined now.
    async fn wake_one_parent(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
        now: Timestamp,
    ) -> Result<Option<WorkOrderId>, Error> {
        let mut tries = Tries::failing_with(Error::internal("a waiting work order kept changing"));
        loop {
            tries.next().await?;
            match self.examine(org, id, now).await? {
                Examination::Well => return Ok(None),
                Examination::Failed(parent) => return Ok(parent),
                Examination::Changed => {}
            }
        }
    }

    async fn examine(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
        now: Timestamp,
    ) -> Result<Examination, Error> {
        let order = self.store.work_order(org, id).await?;
        let waits = |order: &WorkOrder| {
            order.status == WorkOrderStatus::WaitingForChildren && order.sealed_at.is_none()
        };
        let Some(order) = order.filter(waits) else {
            return Ok(Examination::Well);
        };
        let (run, lease) = tokio::try_join!(
            self.store.run(org, &order.run_id),
            self.store.lease(org, &order.run_id)
        )?;
        // Its old task still stops: the return of that slot examines it again.
        let (Some(run), None) = (run, lease) else {
            return Ok(Examination::Well);
        };
        let family = self.store.family(org, &order, &run).await?;
        if family.is_open() {
            return Ok(Examination::Well);
        }
        let Some(why) = family.why_failed() else {
            let entered = self.store.reenter(org, &order, &run, now).await?;
            if entered {
                let wake_up = WakeUp::of(org);
                self.queue.wake_or_leave_to_sweep(&wake_up).await;
            }
            return Ok(if entered {
                Examination::Well
            } else {
                Examination::Changed
            });
        };
        let error = RunError::new(RunErrorCode::ChildrenFailed, &why);
        let end = (RunEnd::Failed(error), PaidUntil::End);
        let ending = self.ending(&run, None, end, now);
        let seen = RunView {
            order: &order,
            run: &run,
            lease: None,
            due_at: None,
        };
        Ok(if self.store.end_run(org, &seen, &ending, now).await? {
            Examination::Failed(order.terms.parent_id)
        } else {
            Examination::Changed
        })
    }
}
