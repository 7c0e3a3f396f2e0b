//! Takes task definitions out of use that no run needs any more.

use awo_domain::Timestamp;
use awo_execution::definitions::check;

use super::{State, SweepReport};

/// Most families that one sweep reads: each costs ECS a few calls, of which it takes about one a
/// second.
const MAX_FAMILIES: u32 = 20;

pub(super) async fn check_due(state: &State, now: Timestamp, swept: &mut SweepReport) {
    let due = match state.store.due_definitions(now, MAX_FAMILIES).await {
        Ok(due) => due,
        Err(error) => {
            tracing::error!(
                event = "sweep_definitions_query_failed",
                ?error,
                "the sweep could not query which task definitions are due"
            );
            swept.failed += 1;
            return;
        }
    };
    for family in due {
        swept.due += 1;
        if let Err(error) = check(&state.store, &state.compute, &family, now).await {
            tracing::error!(
                event = "sweep_definition_failed",
                ?family,
                ?error,
                "the sweep could not check a task definition"
            );
            swept.failed += 1;
        }
    }
}
