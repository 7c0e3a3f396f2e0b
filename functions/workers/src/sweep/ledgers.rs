//! Checks each organization's ledger once a day: the balance must be the sum of its entries, and
//! the reserved amount the sum of its open holds. A check changes nothing of them. Then it closes the
//! organization's months that are due.

use std::time::{Duration, Instant};

use awo_domain::{Error, Timestamp};
use awo_store::Store;
use awo_store::ledger::checkpoints::{Checkpoint, LedgerCheck};

use super::SweepReport;

/// Most ledgers of one sweep, and how long it begins with another one: what lives comes first.
const MAX_CHECKS: u32 = 100;
const CHECKING: Duration = Duration::from_secs(15);
/// Steps of one check; the next sweep goes on where it stops.
const MAX_STEPS: u32 = 5;

/// Checks what is due.
pub(super) async fn check(store: &Store, now: Timestamp, swept: &mut SweepReport) {
    let began = Instant::now();
    let due = match store.due_checkpoints(now, MAX_CHECKS).await {
        Ok(due) => due,
        Err(error) => {
            tracing::error!(
                event = "sweep_ledgers_query_failed",
                ?error,
                "the sweep could not query which ledgers are due"
            );
            swept.failed += 1;
            return;
        }
    };
    for from in due.iter().take_while(|_| began.elapsed() < CHECKING) {
        swept.due += 1;
        if let Err(error) = check_due(store, from, now).await {
            tracing::error!(event = "ledger_check_failed", org = %from.org_id, ?error, "the sweep could not check a ledger");
            swept.failed += 1;
            if let Err(error) = store.check_again(from, now).await {
                tracing::error!(event = "ledger_check_not_postponed", org = %from.org_id, ?error, "a ledger's check could not be postponed");
            }
        }
    }
}

/// The index may be old: the check goes on from the checkpoint that there is.
async fn check_due(store: &Store, seen: &Checkpoint, now: Timestamp) -> Result<(), Error> {
    let from = store.checkpoint(&seen.org_id).await?;
    match from.filter(|from| from.due_at <= now.epoch_ms()) {
        Some(from) => check_one(store, &from, now).await,
        None => Ok(()),
    }
}

async fn check_one(store: &Store, from: &Checkpoint, now: Timestamp) -> Result<(), Error> {
    let (checked, next) = Box::pin(store.check_ledger(from, MAX_STEPS, now)).await?;
    if let LedgerCheck::Drifts { expected, found } = checked {
        tracing::error!(event = "ledger_drifts", org = %from.org_id, ?expected, ?found, "the ledger drifts");
    }
    store.advance_checkpoint(from, &next).await?;
    for closed in Box::pin(store.close_months(&from.org_id, None, now)).await? {
        tracing::info!(event = "month_closed", org = %from.org_id, month = %closed.month, hash = closed.hash);
    }
    Ok(())
}
