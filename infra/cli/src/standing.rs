//! The state of a followed run: its position in the queue, and its usage so far.

use std::convert::Infallible;
use std::time::Duration;

use awo_domain::RunId;

use crate::answers::{self, Position, Run, Usage};
use crate::client::Client;
use crate::paint::clean_line;
use crate::screen::Screen;
use crate::times;

/// Pause between two readings.
const PAUSE: Duration = Duration::from_secs(5);

/// Keeps the live line told, as long as it is there. What cannot be read is left out.
pub async fn watch(client: &Client, run: &RunId, screen: &Screen<'_>) -> Infallible {
    if !screen.is_live() {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep(PAUSE).await;
        screen.beside(standing(client, run).await.unwrap_or_default());
    }
}

async fn standing(client: &Client, run: &RunId) -> Option<String> {
    let text = client.get(&format!("/v1/runs/{run}"), &[]).await.ok()?;
    let run: Run = answers::read(&text).ok()?;
    if run.status != "queued" {
        return run.usage.as_ref().map(used);
    }
    let path = format!("/api/v1/queue/position/{}", run.work_order_id);
    let text = client.get(&path, &[]).await.ok()?;
    let position: Position = answers::data(&text).ok()?;
    let start = position.estimated_start_time.as_deref();
    let start = start.and_then(times::ago);
    let start = start
        .map(|start| format!(", starts {start}"))
        .unwrap_or_default();
    let waits = position.waits_for.as_deref().map(clean_line);
    let waits = waits
        .map(|what| format!(", waits for its {what}"))
        .unwrap_or_default();
    Some(format!("position {}{start}{waits}", position.position))
}

/// What the run's models have used, as far as it was reported.
fn used(usage: &Usage) -> String {
    let tokens = usage.total_input_tokens + usage.total_output_tokens;
    format!("{tokens} tokens, {:.4} USD so far", usage.total_cost_usd)
}
