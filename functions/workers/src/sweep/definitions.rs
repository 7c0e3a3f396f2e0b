//! Takes task definitions out of use that no run needs any more.

use awo_execution::definitions::check;

use super::bounds::Bounds;
use super::{State, SweepReport};

/// Most families that one sweep reads: each costs ECS a few calls, of which it takes about one a
/// second.
const MAX_FAMILIES: u32 = 20;

pub(super) async fn check_due(state: &State, bounds: Bounds, swept: &mut SweepReport) {
    let now = state.clock.now();
    let due = match state.store.due_definitions(now, MAX_FAMILIES).await {
        Ok(due) => due,
        Err(error) => {
            return swept.fail_to_read("sweep_definitions_query_failed", "definitions", &error);
        }
    };
    for family in due.iter().take_while(|_| !bounds.are_over()) {
        let checked = check(&state.store, &state.compute, family, now).await;
        swept.count("sweep_definition_failed", &family.family, checked);
    }
}
