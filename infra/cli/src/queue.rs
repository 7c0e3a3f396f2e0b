//! `awo queue`

use awo_domain::WorkOrderId;

use crate::answers::{self, Health, Position, WorkOrder};
use crate::arguments::Queue;
use crate::bars;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use crate::reference;

/// Cells of a full bar.
const BAR: usize = 20;

/// Shows the queue, or a position in it.
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
    field(output, "running", format!("{} slots", bar(running, slots)))?;
    let (waiting, most) = (stats.waiting, stats.max_queue_size);
    field(
        output,
        "waiting",
        format!("{} work orders", bar(waiting, most)),
    )?;
    let next = if !stats.accepting {
        "is refused until a waiting work order starts"
    } else if health.indicators.can_start_immediately {
        "starts immediately"
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
    field(output, "enqueued", output.time(&place.enqueued_at))?;
    if let Some(start) = &place.estimated_start_time {
        field(output, "starts about", output.time(start))?;
    }
    if let Some(what) = &place.waits_for {
        field(output, "waits for", clean_line(what))?;
    }
    Ok(())
}

/// Why a work order has no position in the queue.
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

/// A part of a whole as a bar and in numbers.
fn bar(part: u64, whole: u64) -> String {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a bar has fewer cells than a number has digits"
    )]
    let share = part as f64 / whole.max(1) as f64;
    format!("{} {part} of {whole}", bars::filled(share, BAR))
}
