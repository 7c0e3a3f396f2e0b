//! Checks each organization's ledger once a day: the balance must be the sum of its entries, and
//! the reserved amount the sum of its open holds. A check changes nothing of them. Then it closes the
//! organization's months that are due.

use awo_domain::{Error, OrgId, Timestamp};
use awo_store::Store;
use awo_store::ledger::checkpoints::{Checkpoint, LedgerCheck};
use futures::{StreamExt, stream};

use super::bounds::Bounds;
use super::{State, SweepReport};

/// Ledgers that are read at once.
const PAGE: u32 = 100;
/// Steps of one check; the next sweep goes on where it stops.
const MAX_STEPS: u32 = 5;

/// Checks what is due, while there is time.
pub(super) async fn check(state: &State, bounds: Bounds, swept: &mut SweepReport) {
    let (store, now) = (&state.store, state.clock.now());
    let mut after = None;
    while !bounds.are_over() {
        let page = match store.due_checkpoints(after.as_ref(), now, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                return swept.fail_to_read("sweep_ledgers_query_failed", "ledgers", &error);
            }
        };
        let checked = stream::iter(page.items)
            .take_while(|_| std::future::ready(!bounds.are_over()))
            .map(|org| async move {
                let checked = Box::pin(check_due(store, &org, now)).await;
                (org, checked)
            })
            .buffer_unordered(bounds.at_once);
        let checked: Vec<_> = checked.collect().await;
        for (org, checked) in checked {
            swept.count("ledger_check_failed", org.as_str(), checked);
        }
        after = page.next;
        if after.is_none() {
            return;
        }
    }
}

/// The index may be old: the check goes on from the checkpoint that there is. One that fails is made again
/// in an hour.
async fn check_due(store: &Store, org: &OrgId, now: Timestamp) -> Result<(), Error> {
    let from = store.checkpoint(org).await?;
    let Some(from) = from.filter(|from| from.due_at <= now.epoch_ms()) else {
        return Ok(());
    };
    let checked = check_one(store, &from, now).await;
    if checked.is_err()
        && let Err(error) = store.check_again(&from, now).await
    {
        tracing::error!(event = "ledger_check_not_postponed", %org, ?error, "a ledger's check could not be postponed");
    }
    checked
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
