//! Runs whose compute is gone before they finished.

use awo_cloud::Mint;
use awo_cloud::compute::Gone;
use awo_domain::ledger::Rates;
use awo_domain::money::{MicroCredits, NanoUsd};
use awo_domain::run::{RunError, RunErrorCode};
use awo_domain::{Error, OrgId, Timestamp, TransactionId};
use awo_store::Store;
use awo_store::lease::Lease;
use awo_store::runs::Run;
use awo_store::settlement::Ending;

/// What ending lost runs needs.
#[derive(Debug, Clone)]
pub struct LostRuns {
    pub store: Store,
    pub mint: Mint,
    pub rates: Rates,
}

/// How often the end is tried that meets a report of the run.
const END_TRIES: u32 = 4;

impl LostRuns {
    /// Settles what is left when compute is known to be gone: ends the run if it was not over,
    /// and gives the slot back. Doing it again changes nothing. True if a slot came back.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn compute_gone(
        &self,
        lease: &Lease,
        gone: &Gone,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.end(
            lease,
            &|run| ending_of_gone(gone, run, &self.rates, now),
            now,
        )
        .await?;
        let run = self.run(&lease.org_id, lease).await?;
        self.store.return_slot(&lease.org_id, &run, now).await
    }

    /// Ends a run whose compute does not answer. The slot stays taken until it is known gone.
    ///
    /// # Errors
    /// Internal, when a call fails.
    pub async fn silent(&self, lease: &Lease, message: &str, now: Timestamp) -> Result<(), Error> {
        let error = RunError::new(RunErrorCode::ComputeLost, message);
        self.end(lease, &|_| (error.clone(), MicroCredits::ZERO), now)
            .await
    }

    async fn run(&self, org: &OrgId, lease: &Lease) -> Result<Run, Error> {
        let run = self.store.run(org, &lease.run_id).await?;
        run.ok_or_else(|| {
            Error::internal(format!("the run {} of a lease is missing", lease.run_id))
        })
    }

    async fn end(
        &self,
        lease: &Lease,
        how: &(dyn Fn(&Run) -> (RunError, MicroCredits) + Sync),
        now: Timestamp,
    ) -> Result<(), Error> {
        for _ in 0..END_TRIES {
            let run = self.run(&lease.org_id, lease).await?;
            if run.status.is_terminal() {
                return Ok(());
            }
            let (error, cost) = how(&run);
            let ending = Ending {
                error: Some(error),
                iterations: run.iteration,
                commit: None,
                branch: None,
                usage: Vec::new(),
                cost,
                transaction_id: TransactionId::new(now, self.mint.random(now)),
            };
            if self
                .store
                .end_lost_run(&lease.org_id, &run, &ending, now)
                .await?
            {
                tracing::warn!(run = %run.run_id, error = ?ending.error, "ended a lost run");
                return Ok(());
            }
        }
        Err(Error::internal(
            "a lost run kept changing while it was ended",
        ))
    }
}

/// A task that its own content killed has failed and pays; any other loss is ours and is free.
fn ending_of_gone(
    gone: &Gone,
    run: &Run,
    rates: &Rates,
    now: Timestamp,
) -> (RunError, MicroCredits) {
    if gone.was_out_of_memory() {
        let message =
            "the run used more memory than its task has: use less, or ask for a larger task";
        let compute_ms = now.ms_since(run.started_at.unwrap_or(now));
        return (
            RunError::new(RunErrorCode::AgentFailed, message),
            rates.cost(NanoUsd::ZERO, compute_ms),
        );
    }
    let exit = gone
        .exit_code
        .map(|code| format!(", exit code {code}"))
        .unwrap_or_default();
    let message = format!(
        "the compute of this run was lost ({}{exit}); it costs nothing: start a new run",
        gone.reason
    );
    (
        RunError::new(RunErrorCode::ComputeLost, &message),
        MicroCredits::ZERO,
    )
}
