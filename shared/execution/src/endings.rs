//! Runs whose compute is gone, or does not respond: each ends once and is charged once, and its
//! slot is returned when its compute is known to be gone, not before.

use awo_cloud::compute::{StartedContainers, TaskEnd};
use awo_cloud::queue::{RunQueue, WakeUp};
use awo_cloud::{Cloud, Mint, SetupError, settings};
use awo_domain::control::StopRequest;
use awo_domain::environment::Containers;
use awo_domain::ledger::Rates;
use awo_domain::run::{RunEnd, RunError, RunErrorCode};
use awo_domain::stop::end_of_kill;
use awo_domain::usage::PricedUsage;
use awo_domain::{Error, OrgId, Timestamp, TransactionId};
use awo_store::runs::Run;
use awo_store::runs::lifecycle::end::{Ending, RunView};
use awo_store::runs::lifecycle::lease::Lease;
use awo_store::runs::lifecycle::settle::Charge;
use awo_store::{Store, Tries};

use crate::start_failure::{never_ready, start_failure};

/// Exit code of a runner that ended everything by SIGTERM and could not report so.
const EXIT_TERMINATED: i32 = 143;

/// Ends runs that cannot end themselves.
#[derive(Debug, Clone)]
pub struct Endings {
    pub(crate) store: Store,
    pub(crate) queue: RunQueue,
    mint: Mint,
    rates: Rates,
}

impl Endings {
    /// The next turn of a thread may go, whose turn before left the queue without a slot.
    pub(crate) async fn wake_next_turn(&self, org: &OrgId) {
        self.queue.wake_or_leave_to_sweep(&WakeUp::of(org)).await;
    }

    /// By the environment's settings.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn new(cloud: &Cloud) -> Result<Endings, SetupError> {
        Ok(Endings {
            store: cloud.store()?,
            queue: cloud.run_queue()?,
            mint: cloud.mint.clone(),
            rates: settings::rates(&cloud.environment)?,
        })
    }

    /// Settles what is left when compute is known to be gone: ends the run if it was not over,
    /// charges it if that was still to be done, and returns the slot, to the next waiting entry.
    /// Doing it again changes nothing.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn compute_gone(
        &self,
        lease: &Lease,
        gone: &TaskEnd,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.note_started(lease, &gone.started, now).await?;
        let paid = if gone.ended_with_service() {
            PaidUntil::LastHeard
        } else {
            PaidUntil::End
        };
        let how = |seen: &EndContext<'_>| end_of_gone(gone, seen);
        self.end(lease, &how, (None, paid), now).await?;
        self.return_slot_paid(lease, paid, now).await
    }

    /// Records that a container of the client's has started, if one has: from then on its run's
    /// compute is paid.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn note_started(
        &self,
        lease: &Lease,
        started: &StartedContainers,
        now: Timestamp,
    ) -> Result<(), Error> {
        if lease.containers.is_none() || lease.executed_at.is_some() {
            return Ok(());
        }
        let order = self.store.work_order(&lease.org_id, &lease.work_order_id);
        let own = order
            .await?
            .and_then(|order| order.own_containers().ok().flatten());
        if own.is_some_and(|own| started.run_client_code(&own)) {
            self.store.note_executed(lease, now).await?;
        }
        Ok(())
    }

    /// Gives the slot of a run back that is over, or waits for its children, and of which nothing is
    /// alive: to the next waiting entry. Doing it again changes nothing.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn return_slot(&self, lease: &Lease, now: Timestamp) -> Result<(), Error> {
        self.return_slot_paid(lease, PaidUntil::End, now).await
    }

    async fn return_slot_paid(
        &self,
        lease: &Lease,
        paid: PaidUntil,
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut tries = Tries::failing_with(Error::internal(
            "a slot could not be returned: run or lease kept changing",
        ));
        loop {
            tries.next().await?;
            let Some((run, lease)) = self.read(lease).await? else {
                return Ok(());
            };
            let charge = self.charge(&run, Some(&lease), paid, now);
            if self.store.return_slot(&lease, &run, &charge, now).await? {
                let wake_up = WakeUp::for_capacity(&lease.org_id);
                self.queue.wake_or_leave_to_sweep(&wake_up).await;
                if run.is_suspended() {
                    self.wake_parent_or_leave_to_sweep(&lease.org_id, &run.work_order_id, now)
                        .await;
                }
                return Ok(());
            }
        }
    }

    /// Ends a run whose time to start is over and of whose task ECS does not know, and gives its
    /// slot back; neither if its deadline is no longer that of the lease as it was read.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn never_started(&self, lease: &Lease, now: Timestamp) -> Result<(), Error> {
        let gone = TaskEnd {
            reason: "its task did not start".to_owned(),
            ..TaskEnd::default()
        };
        let how = |seen: &EndContext<'_>| end_of_gone(&gone, seen);
        let when = (Some(lease.due_at), PaidUntil::End);
        if self.end(lease, &how, when, now).await? {
            self.compute_gone(lease, &gone, now).await
        } else {
            Ok(())
        }
    }

    /// Ends a run that no longer reports while ECS shows its task as running, unless its deadline
    /// is no longer that of the lease as it was read. The slot stays taken until the task is known
    /// to be gone. True if the run is over.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn silent(&self, lease: &Lease, now: Timestamp) -> Result<bool, Error> {
        let how = |seen: &EndContext<'_>| end_of_silent(seen);
        let when = (Some(lease.due_at), PaidUntil::End);
        self.end(lease, &how, when, now).await
    }

    /// Ends a run that was to be killed and whose death could not be confirmed in time; for a
    /// deadline of its lease, only while that stands.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn kill_not_confirmed(
        &self,
        lease: &Lease,
        due_at: Option<i64>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let how = |seen: &EndContext<'_>| end_of_kill(true, reason(seen.run));
        let when = (due_at, PaidUntil::End);
        self.end(lease, &how, when, now).await.map(|_| ())
    }

    /// The end of a run with what it used so far, and its price.
    #[must_use]
    pub fn ending(
        &self,
        run: &Run,
        lease: Option<&Lease>,
        (end, paid): (RunEnd, PaidUntil),
        now: Timestamp,
    ) -> Ending {
        let charge = self.charge(run, lease, paid, now);
        let lost = end
            .error()
            .is_some_and(|error| error.code.is_free_of_charge());
        Ending {
            end,
            iterations: run.iteration,
            commit: None,
            branch: None,
            pr_url: None,
            usage: run.usage.clone(),
            charge: Charge {
                is_free: charge.is_free || lost,
                ..charge
            },
        }
    }

    /// The price of a run: nothing, unless a process of client code has started.
    fn charge(&self, run: &Run, lease: Option<&Lease>, paid: PaidUntil, now: Timestamp) -> Charge {
        let end = run.completed_at.unwrap_or(now);
        let heard = lease.map(|lease| lease.heard_at.unwrap_or(lease.leased_at));
        let until = match paid {
            PaidUntil::End => end,
            PaidUntil::LastHeard => heard.map_or(end, |heard| heard.min(end)),
        };
        let compute_ms = run.compute_ms_until(until);
        let rates = self.rates.sized(run.size);
        Charge {
            cost: rates.parts(PricedUsage::total(&run.usage), compute_ms),
            compute_ms,
            is_free: !run.has_executed(lease),
            transaction_id: TransactionId::new(now, self.mint.random(now)),
        }
    }

    /// None if the slot was given back; then the run may even be purged.
    async fn read(&self, lease: &Lease) -> Result<Option<(Run, Lease)>, Error> {
        let (org, id) = (&lease.org_id, &lease.run_id);
        let run = self.store.run(org, id).await?;
        // After the run: where there is a lease, there was its run before.
        let Some(lease) = self.store.lease(org, id).await? else {
            return Ok(None);
        };
        let run =
            run.ok_or_else(|| Error::internal(format!("the run {id} of a lease is missing")))?;
        Ok(Some((run, lease)))
    }

    /// True if the run is over, false if the lease has another deadline than the one given.
    async fn end(
        &self,
        lease: &Lease,
        how: &(dyn Fn(&EndContext<'_>) -> RunEnd + Sync),
        (due_at, paid): (Option<i64>, PaidUntil),
        now: Timestamp,
    ) -> Result<bool, Error> {
        let mut tries =
            Tries::failing_with(Error::internal("a run kept changing while it was ended"));
        let judged = lease;
        loop {
            tries.next().await?;
            // A run that waits for children has left its compute, and does not need it.
            let in_need = |run: &Run| !run.status.is_terminal() && !run.is_suspended();
            let read = self.read(judged).await?;
            let Some((run, lease)) = read.filter(|(run, _)| in_need(run)) else {
                return Ok(true);
            };
            let has_reported = lease.stop_request.is_none() && lease.heard_at != judged.heard_at;
            if due_at.is_some_and(|due_at| due_at != lease.due_at || has_reported) {
                return Ok(false);
            }
            let org = &lease.org_id;
            let Some(order) = self.store.work_order(org, &run.work_order_id).await? else {
                return Ok(true);
            };
            // Its end must not fail for what is only there to explain it.
            let own = order.own_containers().ok().flatten();
            let ended = EndContext {
                lease: &lease,
                run: &run,
                own: own.as_ref(),
            };
            let ending = self.ending(&run, Some(&lease), (how(&ended), paid), now);
            let seen = RunView {
                order: &order,
                run: &run,
                lease: Some(&lease),
                due_at,
            };
            if self.store.end_run(org, &seen, &ending, now).await? {
                let code = ending
                    .end
                    .error()
                    .map(|error| tracing::field::debug(error.code));
                tracing::warn!(event = "run_ended_by_service", run = %run.run_id, code, end = ?ending.end, "ended a run that could not end itself");
                self.notify_parent(org, &order, now).await;
                return Ok(true);
            }
        }
    }
}

/// The end of the compute that a run pays for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaidUntil {
    /// The run's own.
    End,
    /// The last report of a runner that ended with the service.
    LastHeard,
}

/// The facts that decide a run's end.
struct EndContext<'a> {
    lease: &'a Lease,
    run: &'a Run,
    own: Option<&'a Containers>,
}

impl EndContext<'_> {
    fn has_executed(&self) -> bool {
        self.run.has_executed(Some(self.lease))
    }
}

fn reason(run: &Run) -> Option<&str> {
    run.stop.as_ref().and_then(|stop| stop.reason.as_deref())
}

/// A runner that was never heard of ran nothing of the client's: that is the platform's failure. One
/// that has reported and stops may have been silenced by what it runs, so the run pays for what is
/// known of it.
fn end_of_silent(ended: &EndContext<'_>) -> RunEnd {
    if !was_claimed(ended.lease) {
        if let Some(own) = ended.own {
            return not_begun(&never_ready(own), ended);
        }
        let message = "the task of this run started, but its runner never reported; the run is \
                       not charged: start a new run";
        return RunEnd::Failed(RunError::new(RunErrorCode::ComputeLost, message));
    }
    let message = "the runner stopped reporting while its task was running; the run is charged for \
                   its compute so far and for the usage that was reported. Check the \
                   last events of the run, give it a smaller task, and start a new run";
    RunEnd::Failed(RunError::new(RunErrorCode::RunnerFailed, message))
}

/// The end of a run whose environment prevented its runner from starting.
fn not_begun(why: &str, ended: &EndContext<'_>) -> RunEnd {
    let charged = if ended.has_executed() {
        "is charged for its compute, since a container of the environment had started"
    } else {
        "is not charged"
    };
    let message = format!("{why}; the run {charged}");
    RunEnd::Failed(RunError::new(RunErrorCode::WorkspaceFailed, &message))
}

/// True if a runner has ever traded the lease's nonce for a token.
fn was_claimed(lease: &Lease) -> bool {
    lease.token_hash.is_some()
}

/// A task that was to be killed was killed. One that its own content killed, and one whose runner
/// ended by itself, have failed and pay, as does one that ended with the local service while client
/// code ran. Any other loss is the platform's and is free.
fn end_of_gone(gone: &TaskEnd, ended: &EndContext<'_>) -> RunEnd {
    let (lease, run) = (ended.lease, ended.run);
    if let Some(StopRequest::Kill { immediate, .. }) = lease.stop_request {
        let forced = immediate || gone.exit_code != Some(EXIT_TERMINATED);
        return end_of_kill(forced, reason(run));
    }
    let own = ended.own.filter(|_| !was_claimed(lease));
    if let Some(why) = own.and_then(|own| start_failure(gone, own)) {
        return not_begun(&why, ended);
    }
    if gone.was_out_of_memory() {
        let message =
            "the run used more memory than its task has: use less, or ask for a larger task";
        return RunEnd::Failed(RunError::new(RunErrorCode::AgentFailed, message));
    }
    let exit = gone
        .exit_code
        .map(|code| format!(", exit code {code}"))
        .unwrap_or_default();
    if gone.ended_by_itself && was_claimed(lease) {
        let message = format!(
            "the runner exited before it reported the end of the run ({}{exit}); the run is \
             charged for its compute so far and for the usage that was reported. Check the \
             last events of the run, and start a new run",
            gone.reason
        );
        return RunEnd::Failed(RunError::new(RunErrorCode::RunnerFailed, &message));
    }
    if gone.ended_with_service() && ended.has_executed() {
        let message = "the service on this machine ended while the run was under way; the run is charged \
                       for its compute up to its last heartbeat and for the usage that was reported: \
                       start a new run";
        return RunEnd::Failed(RunError::new(RunErrorCode::RunnerFailed, message));
    }
    let message = format!(
        "the compute of this run was lost ({}{exit}); the run is not charged: start a new run",
        gone.reason
    );
    RunEnd::Failed(RunError::new(RunErrorCode::ComputeLost, &message))
}
