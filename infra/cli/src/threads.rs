//! `awo follow-up` and `awo thread`

use serde::Deserialize;

use crate::answers::{self, PullRequest, WorkOrder};
use crate::arguments::{FollowUp, Thread};
use crate::client::Client;
use crate::failure::Failure;
use crate::follow;
use crate::grid::{Column, Entry, Grid};
use crate::output::{Format, Output};
use crate::paint::clean_line;
use crate::read::field;
use crate::reference;
use crate::submit::{idempotency_key, prompt};

/// A thread, as far as it is shown.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadAnswer {
    thread_id: String,
    repository: String,
    branch: Option<String>,
    pull_request: Option<PullRequest>,
    turns: Vec<Turn>,
    cost: ThreadCost,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Turn {
    turn: u32,
    work_order_id: String,
    run_id: String,
    status: String,
    verified: bool,
    created_at: String,
}

#[derive(Debug, Deserialize)]
struct ThreadCost {
    credits: f64,
}

/// Creates the next turn of a thread, and follows its run if that is requested.
pub async fn follow_up(client: &Client, wanted: &FollowUp, output: &Output) -> Result<(), Failure> {
    let body = wanted.body(prompt(&wanted.prompt)?)?;
    let id = reference::work_order(client, &wanted.id).await?;
    let key = idempotency_key(wanted.idempotency_key.as_deref());
    let path = format!("/v1/work-orders/{id}/follow-ups");
    let text = client.post(&path, Some(&body), &key).await?;
    let order: WorkOrder = answers::read(&text)?;
    if wanted.follow || wanted.require_verified {
        let run = reference::run_id(&order.run_id)?;
        follow::announce(output, "submitted", [&order.id, &order.run_id])?;
        return follow::run(client, &run, wanted.require_verified, output).await;
    }
    if output.is_json() {
        return output.line(&text);
    }
    if output.format == Format::Ids {
        return output.line(&clean_line(&order.id));
    }
    field(output, "work order", clean_line(&order.id))?;
    field(output, "run", clean_line(&order.run_id))?;
    field(output, "status", output.paint.status(&order.status))?;
    output.hint(&format!(
        "To watch it: awo follow {}",
        clean_line(&order.run_id)
    ))
}

/// Shows the thread of a work order.
pub async fn show(client: &Client, wanted: &Thread, output: &Output) -> Result<(), Failure> {
    let id = reference::work_order(client, &wanted.id).await?;
    let order = client.get(&format!("/v1/work-orders/{id}"), &[]).await?;
    let order: WorkOrder = answers::read(&order)?;
    let thread = order.thread_id.unwrap_or(order.id);
    let text = client.get(&format!("/v1/threads/{thread}"), &[]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let thread: ThreadAnswer = answers::read(&text)?;
    if output.format == Format::Table {
        field(output, "thread", clean_line(&thread.thread_id))?;
        field(output, "repository", clean_line(&thread.repository))?;
        if let Some(branch) = &thread.branch {
            field(output, "branch", clean_line(branch))?;
        }
        if let Some(pull) = &thread.pull_request {
            field(output, "pull request", pull.line())?;
        }
        field(output, "credits", thread.cost.credits)?;
        output.line("")?;
    }
    let mut grid = Grid::new(&[
        Column::number("turn", 0),
        Column::whole("work order", 0),
        Column::whole("status", 0),
        Column::whole("verified", 2),
        Column::whole("created", 1),
        Column::whole("run", 3),
    ]);
    for turn in &thread.turns {
        let verified = if turn.verified { "yes" } else { "no" };
        grid.row(vec![
            Entry::text(turn.turn),
            Entry::text(&turn.work_order_id),
            Entry::status(&turn.status),
            Entry::text(verified),
            Entry::time(&turn.created_at, output),
            Entry::text(&turn.run_id),
        ]);
    }
    grid.show_rows("turns", output)
}
