//! Runs whose tasks get no capacity from the cluster: each returns slot and permit after a minute,
//! for use by others, and waits at its former position in the queue.

use awo_domain::event::Lifecycle;
use awo_domain::run::RunEvent;
use awo_domain::work_order::WorkOrderEvent;
use awo_domain::{Error, Timestamp};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::runs_with;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::runs::Run;
use crate::runs::lifecycle::dispatch::EntryItem;
use crate::runs::lifecycle::lease::Lease;
use crate::runs::lifecycle::transitions::{after_order, after_run};
use crate::work_orders::{WorkOrder, queue_entry};

impl Store {
    /// Puts the run of a lease without a task back into the queue, and gives its slot and permit back. False
    /// if a task or a runner has come, a client wants it to stop, or it has changed otherwise.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn wait_for_capacity(&self, lease: &Lease, now: Timestamp) -> Result<bool, Error> {
        let org = &lease.org_id;
        let (order, run) = tokio::try_join!(
            self.work_order(org, &lease.work_order_id),
            self.run(org, &lease.run_id)
        )?;
        let Some((order, run)) = order.zip(run).filter(|(order, run)| order.has_begun(run)) else {
            return Ok(false);
        };
        let transaction = self.back_in_queue(lease, &order, &run, now)?;
        Ok(transaction.commit(self).await?.is_yes())
    }

    fn back_in_queue(
        &self,
        lease: &Lease,
        order: &WorkOrder,
        run: &Run,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let org = &lease.org_id;
        let to = after_order(order.status, WorkOrderEvent::NoCapacity)?;
        let sequence = run.last_sequence + 1;
        let resumes = run.resumed_at.is_some();
        let entry = EntryItem {
            resumes: resumes.then_some(sequence),
            last_sequence: (!resumes).then_some(sequence),
            came_back: lease.came_back + 1,
            ..queue_entry(order, &run.run_id, lease.enqueued_at.unwrap_or(now))
        };
        let untouched = Change::new()
            .when("dueAt", lease.due_at)
            .when("clientToken", &lease.client_token)
            .when_present("nonce")
            .when_missing("taskArn")
            .when_missing("stopRequest")
            .when_missing("closedAt");
        let tally = Change::new()
            .add("slots", -1)
            .count_work_order(Some(order.status), to)
            .entry_came_back(org, now);
        let (waits, tally) = if resumes {
            (Change::new().remove("resumedAt"), tally)
        } else {
            let status = after_run(run.status, RunEvent::NoCapacity)?;
            let waits = Change::new()
                .set("status", status)
                .set("statusKey", runs_with(org, status))
                .remove("startedAt");
            (waits, tally.count_run(Some(run.status), status))
        };
        let waits = waits
            .remove("phase")
            .set("lastSequence", sequence)
            .when("status", run.status)
            .when("lastSequence", run.last_sequence);
        let moved = Change::new().move_order(org, &run.run_id, order.status, to);
        Transaction::new()
            .delete(&Key::lease(org, &run.run_id), untouched)
            .return_permit(lease.capacity_shard)
            .put(&Key::entry(org, &order.id), &entry)?
            .update(&Key::run(org, &run.run_id), waits)
            .update(&Key::work_order(org, &order.id), moved)
            .update(&Key::tally(org), tally)
            .append_event(
                self,
                &run.subject(org),
                sequence,
                Lifecycle::NoCapacity.to_parts(),
                now,
            )
    }
}
