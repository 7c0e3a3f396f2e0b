//! `awo queue`

use awo_domain::WorkOrderId;

use crate::answers::{self, Health, Position, WorkOrder};
use crate::arguments::Queue;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use crate::reference;

/// Cells of a full bar.
const BAR: usize = 30;

/// Shows the queue, or a place in it.
pub async fn run(client: &Client, wanted: &Queue, output: &Output) -> Result<(), Failure> {
    if let Some(wanted) = &wanted.id {
        let id = reference::work_order(client, wanted).await?;
        return position(client, &id, output).await;
    }
    let text = client.get("/api/v1/queue/health", &[]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let health: Health = answers::data(&text)?;
    let stats = &health.stats;
    field(output, "queue", output.paint.status(&health.status))?;
    let (running, slots) = (stats.running, stats.max_concurrent);
    field(output, "running", format!("{running} of {slots} slots"))?;
    let (waiting, places) = (stats.waiting, stats.max_queue_size);
    field(output, "waiting", format!("{waiting} of {places} places"))?;
    field(output, "utilization", bar(health.utilization))?;
    let next = if !stats.accepting {
        "is refused until a place is free"
    } else if health.indicators.can_start_immediately {
        "starts at once"
    } else {
        "waits for its turn"
    };
    field(output, "new work", next)
}

async fn position(client: &Client, id: &WorkOrderId, output: &Output) -> Result<(), Failure> {
    let path = format!("/api/v1/queue/position/{id}");
    let text = match client.get(&path, &[]).await {
        Err(Failure::Api(refusal)) if refusal.status == 404 && !output.is_json() => {
            return Err(not_waiting(client, id).await);
        }
        text => text?,
    };
    if output.is_json() {
        return output.line(&text);
    }
    let place: Position = answers::data(&text)?;
    field(output, "work order", clean_line(&place.work_order_id))?;
    field(output, "state", output.paint.status(&place.state))?;
    field(output, "position", place.position)?;
    field(output, "enqueued", clean_line(&place.enqueued_at))?;
    if let Some(start) = &place.estimated_start_time {
        field(output, "starts about", clean_line(start))?;
    }
    Ok(())
}

/// Why a work order has no place in the queue.
async fn not_waiting(client: &Client, id: &WorkOrderId) -> Failure {
    let order = client.get(&format!("/v1/work-orders/{id}"), &[]).await;
    let order = order.and_then(|text| answers::read::<WorkOrder>(&text));
    match order {
        Ok(order) => Failure::Refused(format!(
            "{id} is not in the queue: it is {}\n  what to do: `awo follow {}` shows its newest \
             run",
            clean_line(&order.status),
            clean_line(&order.run_id)
        )),
        Err(failure) => failure,
    }
}

/// A share as a bar and in percent.
fn bar(share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the share is between 0 and 1, so the number of cells is between 0 and BAR"
    )]
    let full = (share * BAR as f64).round() as usize;
    let (full, free) = ("█".repeat(full), "░".repeat(BAR - full));
    format!("{full}{free} {:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_never_leaves_its_frame() {
        for (share, full, text) in [
            (0.0, 0, " 0 %"),
            (0.5, 15, " 50 %"),
            (1.0, 30, " 100 %"),
            (-3.0, 0, " 0 %"),
            (1e300, 30, " 100 %"),
        ] {
            let bar = bar(share);
            assert_eq!(bar.matches('█').count(), full, "{share}");
            assert_eq!(bar.matches('░').count(), BAR - full, "{share}");
            assert!(bar.ends_with(text), "{bar}");
        }
    }
}
