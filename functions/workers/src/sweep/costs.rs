//! Adds costs of runs to sums by day and month, some minutes after their settlement; until then
//! reports count the records themselves.

use std::time::{Duration, Instant};

use awo_domain::Timestamp;

use super::{State, Swept};

/// Most records by which a sweep finds organizations, and how long it begins with another addition:
/// what lives comes first.
const MAX_DUE: u32 = 1_000;
const ADDING: Duration = Duration::from_secs(20);

/// Adds what is due, and what has come since.
pub(super) async fn add(state: &State, now: Timestamp, swept: &mut Swept) {
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
    }
}
