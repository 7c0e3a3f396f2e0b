//! Runs that clients stop. A waiting run ends and is settled at once. A run with a slot ends at
//! once when it is canceled, and when its processes have ended when it is killed; the stop request
//! is on the lease, and its runner reads it in the response to its next report.

use awo_domain::control::StopRequest;
use awo_domain::event::{Lifecycle, RunEnding};
use awo_domain::money::MicroCredits;
use awo_domain::run::{RunEvent, RunStatus};
use awo_domain::stop::Stop;
use awo_domain::work_order::{WorkOrderEvent, WorkOrderStatus};
use awo_domain::{Error, OrgId, Timestamp};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::runs_with;
use crate::engine::key::Key;
use crate::engine::table::UpdateOutcome;
use crate::engine::transaction::Transaction;
use crate::runs::Run;
use crate::runs::lifecycle::end::{Ender, Ending, RunView};
use crate::runs::lifecycle::lease::{Lease, STOPPING_MS};
use crate::runs::lifecycle::settle::released;
use crate::runs::lifecycle::transitions::{after_order, after_run};
use crate::work_orders::WorkOrder;
use crate::work_orders::cascades::FamilyStop;

impl Store {
    /// Cancels a run that waits: out of the queue, terminal, its hold released. False if it does
    /// not wait any more: read it again.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn cancel_waiting(
        &self,
        org: &OrgId,
        (of, run): (&WorkOrder, &Run),
        stopping: &FamilyStop<'_>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let from = WorkOrderStatus::Queued;
        let order_status = after_order(from, WorkOrderEvent::Canceled)?;
        let order = Change::new()
            .move_order(org, &run.run_id, from, order_status)
            .with_children_of(of);
        let tally = Change::new()
            .entry_left()
            .count_work_order(Some(from), order_status)
            .count_run(Some(RunStatus::Queued), RunStatus::Canceled);
        let balance = Change::new().resolve(run.hold_micro, released(run), now);
        let committed = Transaction::new()
            .delete(
                &Key::entry(org, &run.work_order_id),
                Change::new().when("runId", &run.run_id),
            )
            .update(&Key::work_order(org, &run.work_order_id), order)
            .update(&Key::tally(org), tally)
            .cancel_queued_run(self, org, run, stopping.stop, now)?
            .cascade(org, of, stopping, now)?
            .balance(org, balance, vec![run.settles(released(run))])
            .commit(self)
            .await?;
        Ok(committed.is_yes())
    }

    /// Cancels a run that has a slot, or waits for its children; with `unclaimed`, only while no
    /// runner has come. What it used is settled when its compute is gone. False if it has changed: read it again.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn cancel_begun(
        &self,
        org: &OrgId,
        seen: &RunView<'_>,
        ending: &Ending,
        stopping: FamilyStop<'_>,
        unclaimed: bool,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let ender = Ender::Client {
            stopping,
            unclaimed,
        };
        self.end(org, seen, ending, &ender, now).await
    }

    /// Asks the runner of a run for its processes' death. From then on its work order gets no more
    /// children. False if it, its run or its lease has changed: read them again.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn request_kill(
        &self,
        lease: &Lease,
        (order, run): (&WorkOrder, &Run),
        stop_request: StopRequest,
        stopping: &FamilyStop<'_>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let (org, stop) = (&lease.org_id, stopping.stop);
        let asked = Lifecycle::KillRequested {
            grace_period_ms: grace_ms(stop_request),
            immediate: matches!(
                stop_request,
                StopRequest::Kill {
                    immediate: true,
                    ..
                }
            ),
            reason: stop.reason.clone(),
        };
        let run_change = Change::new()
            .set("stop", stop)
            .set("lastSequence", run.last_sequence + 1)
            .when("status", run.status)
            .when("lastSequence", run.last_sequence);
        let lease_change = requested(lease, stop_request, now)
            .when_present("tokenHash")
            .when_missing("closedAt");
        let committed = Transaction::new()
            .update(&Key::lease(org, &run.run_id), lease_change)
            .update(&Key::run(org, &run.run_id), run_change)
            .update(
                &Key::work_order(org, &order.id),
                Change::new()
                    .set_if_missing("sealedAt", now)
                    .when("status", order.status)
                    .when("runId", &run.run_id)
                    .with_children_of(order),
            )
            .cascade(org, order, stopping, now)?
            .append_event(
                self,
                &run.subject(org),
                run.last_sequence + 1,
                asked.to_parts(),
                now,
            )?
            .commit(self)
            .await?;
        Ok(committed.is_yes())
    }

    /// Makes the stop request on the lease of a run stronger that is over and whose processes still live.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn hasten(
        &self,
        lease: &Lease,
        stop_request: StopRequest,
        now: Timestamp,
    ) -> Result<(), Error> {
        if lease
            .stop_request
            .is_some_and(|old| !stop_request.is_stronger_than(old))
        {
            return Ok(());
        }
        let key = Key::lease(&lease.org_id, &lease.run_id);
        let change = requested(lease, stop_request, now).when_present("runId");
        // Refused, the lease is gone, or somebody else asks for one: it was strong enough.
        let (UpdateOutcome::New(_) | UpdateOutcome::Refused(_)) = self.update(&key, change).await?;
        Ok(())
    }
}

/// A lease whose runner is to act on a stop request. It is due when the processes should be gone.
fn requested(lease: &Lease, stop_request: StopRequest, now: Timestamp) -> Change {
    let grace = i64::try_from(grace_ms(stop_request)).unwrap_or(i64::MAX);
    Change::new()
        .set("stopRequest", stop_request)
        .set("stopRequestedAt", now)
        .set("dueAt", now.plus_ms(grace + STOPPING_MS).epoch_ms())
        .when_option("stopRequest", lease.stop_request)
}

fn grace_ms(stop_request: StopRequest) -> u64 {
    match stop_request {
        StopRequest::Kill {
            grace_period_ms,
            immediate: false,
        } => grace_period_ms,
        StopRequest::Kill { .. } | StopRequest::Cancel => 0,
    }
}

impl Transaction {
    /// The end of a run that never had a slot: canceled, in the timeline and settled. Entry, work order,
    /// tally and balance are the caller's.
    pub(crate) fn cancel_queued_run(
        self,
        store: &Store,
        org: &OrgId,
        run: &Run,
        stop: &Stop,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let status = after_run(RunStatus::Queued, RunEvent::Canceled)?;
        let sequence = run.last_sequence + 1;
        // There never was compute, and never will be: it is as good as gone.
        let over = Change::new()
            .set("status", status)
            .set("statusKey", runs_with(org, status))
            .set("completedAt", now)
            .set("computeStoppedAt", now)
            .set("stop", stop)
            .set("lastSequence", sequence)
            .remove("waitsForBudget")
            .settled(released(run), &run.usage, now)
            .when("status", RunStatus::Queued)
            .when("lastSequence", run.last_sequence);
        let ended = Lifecycle::Ended(RunEnding {
            status,
            iterations: 0,
            pr_url: None,
            verified: false,
            verification: None,
            error: None,
            started_at: run.created_at,
            completed_at: now,
            credits: MicroCredits::ZERO,
            reason: stop.reason.clone(),
        });
        self.update(&Key::run(org, &run.run_id), over)
            .append_event(store, &run.subject(org), sequence, ended.to_parts(), now)?
            .hold_nothing(org, run, now)?
            .mark_settled(
                &Key::settlement(org, &run.run_id),
                (released(run), None),
                now,
            )
    }
}
