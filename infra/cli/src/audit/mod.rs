//! `awo audit`: the configuration of runs, and the integrity of its record.

mod verify;

use serde_json::Value;

use crate::answers;
use crate::arguments::{Audit, AuditAction};
use crate::client::Client;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use crate::reference::{self, Id, Kind, Reference};

/// Does what is asked; without a verb it shows.
pub async fn run(client: &Client, wanted: &Audit, output: &Output) -> Result<(), Failure> {
    match (&wanted.action, &wanted.id) {
        (Some(AuditAction::Verify(wanted)), _) => verify::run(client, wanted, output).await,
        (Some(AuditAction::Changes(wanted)), _) => changes(client, &wanted.id, output).await,
        (Some(AuditAction::Summary(wanted)), _) => summary(client, &wanted.id, output).await,
        (Some(AuditAction::Snapshots(wanted)), _) => snapshots(client, &wanted.id, output).await,
        (Some(AuditAction::Show(wanted)), _) => show(client, &wanted.id, output).await,
        (None, Some(id)) => show(client, id, output).await,
        (None, None) => Err(Failure::Usage(
            "specify a run or a work order, such as `awo audit @latest`".to_owned(),
        )),
    }
}

async fn show(client: &Client, wanted: &Reference, output: &Output) -> Result<(), Failure> {
    match reference::any(client, wanted, Kind::Run).await? {
        Id::Run(run) => {
            let text = client
                .get(&format!("/api/v1/audit/runs/{run}"), &[])
                .await?;
            show_run(&text, output)
        }
        Id::WorkOrder(order) => {
            let path = format!("/api/v1/work-orders/{order}/audit");
            show_order(&client.get(&path, &[]).await?, output)
        }
    }
}

fn show_run(text: &str, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    let audit: Value = answers::data(text)?;
    let fields = [
        ("run", &audit["runId"]),
        ("work order", &audit["workOrderId"]),
        ("iterations", &audit["iterations"]),
        ("snapshots", &audit["snapshotsCount"]),
        ("config hash", &audit["configHash"]),
        ("chain head", &audit["chainHead"]),
        ("stopped by", &audit["stop"]["kind"]),
        ("reason", &audit["stop"]["reason"]),
    ];
    for (name, value) in fields {
        match value {
            Value::Null => {}
            Value::Array(list) => field(output, name, list.len())?,
            Value::String(text) => field(output, name, clean_line(text))?,
            other => field(output, name, other)?,
        }
    }
    let changes = audit["changes"].as_array().map_or(0, Vec::len);
    field(output, "changes", changes)?;
    if output.is_for_programs() {
        return Ok(());
    }
    output.line("\nThe configuration at the end of the run:")?;
    let config = serde_json::to_string_pretty(&audit["finalConfig"]).unwrap_or_default();
    config
        .lines()
        .try_for_each(|line| output.line(&clean_line(line)))
}

fn show_order(text: &str, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    let audit: Value = answers::data(text)?;
    let runs = audit["runs"].as_array().cloned().unwrap_or_default();
    let mut grid = Grid::new(&[
        Column::whole("run", 0),
        Column::number("iteration", 0),
        Column::whole("started", 0),
        Column::number("changes", 0),
        Column::cut("config hash", 0),
    ]);
    for run in &runs {
        grid.row(vec![
            of(run, "runId"),
            Entry::text(&run["iteration"]),
            Entry::time(run["startedAt"].as_str().unwrap_or_default(), output),
            Entry::text(&run["changesCount"]),
            of(run, "configHash"),
        ]);
    }
    grid.show(runs.len() as u64, "runs", output)
}

async fn changes(client: &Client, wanted: &Reference, output: &Output) -> Result<(), Failure> {
    let run = reference::run(client, wanted).await?;
    let text = client
        .get(&format!("/api/v1/audit/runs/{run}/changes"), &[])
        .await?;
    if output.is_json() {
        return output.line(&text);
    }
    let changes: Value = answers::data(&text)?;
    let mut grid = Grid::new(&[
        Column::whole("path", 0),
        Column::number("iteration", 0),
        Column::cut("before", 0),
        Column::cut("after", 0),
        Column::whole("changed", 1),
    ]);
    for change in changes["items"].as_array().into_iter().flatten() {
        grid.row(vec![
            of(change, "path"),
            Entry::text(&change["iteration"]),
            Entry::text(&change["previousValue"]),
            Entry::text(&change["newValue"]),
            Entry::time(change["changedAt"].as_str().unwrap_or_default(), output),
        ]);
    }
    grid.show(changes["total"].as_u64().unwrap_or(0), "changes", output)
}

async fn summary(client: &Client, wanted: &Reference, output: &Output) -> Result<(), Failure> {
    let run = reference::run(client, wanted).await?;
    let text = client
        .get(&format!("/api/v1/audit/runs/{run}/summary"), &[])
        .await?;
    if output.is_json() {
        return output.line(&text);
    }
    let summary: Value = answers::data(&text)?;
    for (name, value) in [
        ("run", &summary["runId"]),
        ("iterations", &summary["totalIterations"]),
        ("changes", &summary["totalChanges"]),
        ("config hash", &summary["configHash"]),
        ("chain head", &summary["chainHead"]),
    ] {
        match value {
            Value::Null => {}
            Value::String(text) => field(output, name, clean_line(text))?,
            other => field(output, name, other)?,
        }
    }
    let paths = summary["changedPaths"].as_array().into_iter().flatten();
    let paths = paths.filter_map(Value::as_str);
    paths
        .into_iter()
        .try_for_each(|path| field(output, "changed", clean_line(path)))
}

async fn snapshots(client: &Client, wanted: &Reference, output: &Output) -> Result<(), Failure> {
    let run = reference::run(client, wanted).await?;
    let text = client
        .get(&format!("/api/v1/audit/runs/{run}/snapshots"), &[])
        .await?;
    if output.is_json() {
        return output.line(&text);
    }
    let snapshots: Value = answers::data(&text)?;
    let mut grid = Grid::new(&[
        Column::whole("snapshot", 0),
        Column::number("iteration", 0),
        Column::whole("taken", 0),
        Column::cut("config hash", 0),
    ]);
    for snapshot in snapshots["items"].as_array().into_iter().flatten() {
        grid.row(vec![
            of(snapshot, "id"),
            Entry::text(&snapshot["iteration"]),
            Entry::time(snapshot["createdAt"].as_str().unwrap_or_default(), output),
            of(snapshot, "configHash"),
        ]);
    }
    grid.show(
        snapshots["total"].as_u64().unwrap_or(0),
        "snapshots",
        output,
    )
}

/// A text of an answer.
fn of(item: &Value, name: &str) -> Entry {
    Entry::text(item[name].as_str().unwrap_or_default())
}
