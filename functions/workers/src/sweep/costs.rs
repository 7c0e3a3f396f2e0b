//! Adds costs of runs to sums by day and month, some minutes after their settlement; until then
//! reports count the records themselves.

use std::time::{Duration, Instant};

use awo_domain::{Error, OrgId, Timestamp};

use super::{State, SweepReport};

/// Most records by which a sweep finds organizations, and how long it begins with another addition:
/// what lives comes first.
const MAX_DUE: u32 = 1_000;
const ADDING: Duration = Duration::from_secs(20);

/// Notes what a credit is worth: exports of the past keep to it.
pub(super) async fn note_price(state: &State, now: Timestamp, swept: &mut SweepReport) {
    let noted = state.store.note_credit_price(state.credits_per_usd, now);
    if let Err(error) = noted.await {
        tracing::error!(
            event = "sweep_credit_price_failed",
            ?error,
            "the sweep could not record the value of a credit"
        );
        swept.failed += 1;
    }
}

/// Adds what is due, and what has come since.
pub(super) async fn add(state: &State, now: Timestamp, swept: &mut SweepReport) {
    let began = Instant::now();
    let due = match state.store.due_costs(now, MAX_DUE).await {
        Ok(due) => due,
        Err(error) => {
            tracing::error!(
                event = "sweep_costs_query_failed",
                ?error,
                "the sweep could not query which costs are due"
            );
            swept.failed += 1;
            return;
        }
    };
    for org in &due {
        swept.due += 1;
        while began.elapsed() < ADDING {
            match state.store.add_costs(org, state.clock.now()).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::error!(event = "sweep_costs_failed", %org, ?error, "the sweep could not add costs to the sums");
                    swept.failed += 1;
                    break;
                }
            }
        }
        if let Err(error) = alert(state, org).await {
            tracing::error!(event = "sweep_alert_failed", %org, ?error, "the sweep could not alert an organization");
            swept.failed += 1;
        }
    }
}

/// What is settled changes budgets and the balance. The dispatcher reads them at once; its loss is made up for here.
async fn alert(state: &State, org: &OrgId) -> Result<(), Error> {
    let tally = state.store.tally(org).await?;
    if tally.watched && !tally.no_webhooks {
        state.store.alert(org, state.clock.now()).await
    } else {
        Ok(())
    }
}
