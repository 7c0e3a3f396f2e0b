//! The state of a followed run: its position in the queue, and its usage so far.

use std::convert::Infallible;
use std::time::Duration;

use awo_domain::RunId;

use crate::answers::{self, Position, Run, Usage};
use crate::client::Client;
use crate::paint::clean_line;
use crate::progress::QUEUED;
use crate::screen::Screen;
use crate::times;

/// Pause between two readings.
const PAUSE: Duration = Duration::from_secs(5);
/// Before the first one where there is no live line: a run that begins at once is not asked for.
const FIRST: Duration = Duration::from_secs(1);

/// Shows it as long as the run is followed: beside the live line, or, without one, in a line for each
/// thing that a queued run waits for. What cannot be read is left out.
pub async fn watch(client: &Client, run: &RunId, screen: &Screen<'_>) -> Infallible {
    if !screen.is_live() {
        return name_waits(client, run, screen).await;
    }
    loop {
        tokio::time::sleep(PAUSE).await;
        screen.beside(standing(client, run).await.unwrap_or_default());
    }
}

/// Reads only while the newest event shows that the run is queued.
async fn name_waits(client: &Client, id: &RunId, screen: &Screen<'_>) -> Infallible {
    let (mut named, mut pause) = (None, FIRST);
    loop {
        tokio::time::sleep(pause).await;
        if !screen.is_at(QUEUED) {
            continue;
        }
        pause = PAUSE;
        let waits_for = waits_for(client, id).await;
        if let Some(what) = waits_for.as_deref().filter(|_| waits_for != named) {
            let line = format!("{:>7}  waiting      {}", "", waits(what));
            // Without a reader the run is followed all the same.
            drop(screen.line(&line));
        }
        named = waits_for;
    }
}

async fn waits_for(client: &Client, id: &RunId) -> Option<String> {
    let run = read_run(client, id).await?;
    position(client, &run).await?.waits_for
}

/// What a queued run waits for, and what ends that.
fn waits(what: &str) -> String {
    let ends = match what {
        "budget" => {
            ": it begins when the period turns, the limit rises or other runs free credits \
             (awo finance budgets)"
        }
        _ => "",
    };
    format!("for its {}{ends}", clean_line(what))
}

async fn read_run(client: &Client, id: &RunId) -> Option<Run> {
    let text = client.get(&format!("/v1/runs/{id}"), &[]).await.ok()?;
    answers::read(&text).ok()
}

async fn position(client: &Client, run: &Run) -> Option<Position> {
    let path = format!("/api/v1/queue/position/{}", run.work_order_id);
    let text = client.get(&path, &[]).await.ok()?;
    answers::data(&text).ok()
}

async fn standing(client: &Client, run: &RunId) -> Option<String> {
    let run = read_run(client, run).await?;
    if run.status != QUEUED {
        return run.usage.as_ref().map(used);
    }
    let position = position(client, &run).await?;
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
