//! The charge of a manual verification: from its first process of client code to its result, by the second
//! and at its size. What the platform lost is free.

use awo_cloud::compute::TaskEnd;
use awo_domain::ledger::LEAST_HOLD_MS;
use awo_domain::manual::Request;
use awo_domain::money::{MicroCredits, NanoUsd};
use awo_domain::{Error, Timestamp, TransactionId};
use awo_store::Tries;
use awo_store::runs::lifecycle::settle::Charge;
use awo_store::runs::verifications::{Verification, request_ms};
use awo_store::runs::verified_run::VerifiedRun;

use super::Verifier;

/// A verification without a result.
pub(super) struct Failure {
    pub(super) error: Error,
    /// True if its compute is not charged: the platform lost it.
    pub(super) is_free: bool,
}

impl Failure {
    /// One whose own content is the cause.
    pub(super) fn of_content(error: Error) -> Failure {
        Failure {
            error,
            is_free: false,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure {
            error,
            is_free: true,
        }
    }
}

/// True if the platform lost a task; not if its own content killed it, or its runner ended by itself.
pub(super) fn is_platforms(gone: &TaskEnd) -> bool {
    !gone.was_out_of_memory() && !gone.ended_by_itself
}

impl Verifier {
    /// Resolves its hold as it is now, and returns its permits. Doing it again changes nothing.
    pub(super) async fn end(&self, of: &Verification, is_free: bool) -> Result<(), Error> {
        let mut tries = Tries::failing_with(Error::internal(
            "a verification kept changing while it was ended",
        ));
        loop {
            tries.next().await?;
            let Some(of) = self.store.as_it_stands(of).await? else {
                return Ok(());
            };
            let now = self.clock.now();
            let charge = self.charge(&of, is_free, now);
            if self.store.end_verification(&of, &charge, now).await? {
                return Ok(());
            }
        }
    }

    /// Credits that it may cost: its own time, and a minute at least, at its size.
    pub(super) fn hold(&self, request: &Request, run: &VerifiedRun) -> MicroCredits {
        let ms = request_ms(request).max(LEAST_HOLD_MS);
        self.rates.sized(run.size).cost(NanoUsd::ZERO, ms)
    }

    /// Charge of its compute; free before its first process of client code, and where `is_free`.
    pub(super) fn charge(&self, of: &Verification, is_free: bool, now: Timestamp) -> Charge {
        let compute_ms = of.compute_ms(now);
        let rates = self.rates.sized(of.run.as_ref().and_then(|run| run.size));
        // What has its result is not lost any more.
        let is_free = is_free && of.finished_at.is_none();
        Charge {
            cost: rates.parts(NanoUsd::ZERO, compute_ms),
            compute_ms,
            is_free: is_free || of.executed_at.is_none(),
            transaction_id: TransactionId::new(now, self.mint.random(now)),
        }
    }
}
