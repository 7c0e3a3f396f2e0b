//! The dispatcher as an operator sees it: the queues and runs of all organizations, pause and drain.

use std::time::{Duration, Instant};

use awo_domain::OrgId;
use awo_domain::run::RunStatus;
use awo_store::organizations::Organization;
use awo_store::runs::RunFilter;
use serde_json::{Value, json};

use super::organizations;
use super::stores::{Stores, refused};
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;
use crate::screen::Screen;

/// Pause between two reads of the active runs.
const PAUSE: Duration = Duration::from_secs(1);

/// The organizations that are meant: one that must be there, or all that were not deleted.
async fn meant(stores: &Stores, org: Option<&OrgId>) -> Result<Vec<Organization>, Failure> {
    if let Some(org) = org {
        return Ok(vec![stores.organization(org).await?]);
    }
    let mut all = organizations::all(stores).await?;
    all.retain(|organization| organization.deleted_at.is_none());
    Ok(all)
}

/// Shows the queues.
pub async fn queue(stores: &Stores, output: &Output) -> Result<(), Failure> {
    let mut queues = Vec::new();
    for organization in meant(stores, None).await? {
        let org = &organization.org_id;
        let tally = stores.store.tally(org).await.map_err(refused)?;
        queues.push(json!({
            "orgId": org,
            "name": organization.name,
            "status": organizations::status(&organization, &tally),
            "running": tally.slots,
            "waiting": tally.waiting,
        }));
    }
    if output.is_json() {
        return output.line(&json!({ "queues": queues }).to_string());
    }
    let mut grid = Grid::new(&[
        Column::whole("organization", 0),
        Column::cut("name", 1),
        Column::whole("status", 0),
        Column::number("running", 0),
        Column::number("waiting", 0),
    ]);
    for queue in &queues {
        let text = |name: &str| queue[name].as_str().unwrap_or_default();
        grid.row(vec![
            Entry::text(text("orgId")),
            Entry::text(text("name")),
            Entry::text(text("status")),
            Entry::text(&queue["running"]),
            Entry::text(&queue["waiting"]),
        ]);
    }
    grid.show(queues.len() as u64, "queues", output)
}

/// Lists the newest runs of each organization.
pub async fn runs(
    stores: &Stores,
    status: Option<&str>,
    limit: u32,
    output: &Output,
) -> Result<(), Failure> {
    let filter = RunFilter {
        status: status.and_then(RunStatus::parse),
        ..RunFilter::default()
    };
    let mut runs = Vec::new();
    for organization in meant(stores, None).await? {
        let org = &organization.org_id;
        let page = stores.store.runs(org, &filter, (limit, 0), None).await;
        for run in page.map_err(refused)?.0.items {
            runs.push(json!({
                "orgId": org, "runId": run.run_id, "workOrderId": run.work_order_id,
                "status": run.status, "createdAt": run.created_at,
            }));
        }
    }
    // Ids sort by creation.
    runs.sort_by(|a, b| b["runId"].as_str().cmp(&a["runId"].as_str()));
    if output.is_json() {
        return output.line(&json!({ "runs": runs }).to_string());
    }
    let mut grid = Grid::new(&[
        Column::whole("run", 0),
        Column::whole("status", 0),
        Column::whole("created", 1),
        Column::whole("organization", 2),
        Column::whole("work order", 3),
    ]);
    for run in &runs {
        let text = |name: &str| run[name].as_str().unwrap_or_default();
        grid.row(vec![
            Entry::text(text("runId")),
            Entry::status(text("status")),
            Entry::time(text("createdAt"), output),
            Entry::text(text("orgId")),
            Entry::text(text("workOrderId")),
        ]);
    }
    grid.show(runs.len() as u64, "runs", output)
}

/// Lets no run begin, or lets them begin again.
pub async fn pause(stores: &Stores, org: Option<&OrgId>, on: bool) -> Result<Value, Failure> {
    let since = on.then(|| stores.cloud.clock.now());
    let organizations = meant(stores, org).await?;
    for organization in &organizations {
        let paused = stores.store.pause(&organization.org_id, since).await;
        paused.map_err(refused)?;
    }
    Ok(json!({ "paused": on, "organizations": organizations.len() }))
}

/// Pauses, and waits until nothing runs.
pub async fn drain(
    stores: &Stores,
    org: Option<&OrgId>,
    timeout_ms: u64,
    output: &Output,
) -> Result<Value, Failure> {
    let (began, limit) = (Instant::now(), Duration::from_millis(timeout_ms));
    let screen = Screen::new(output);
    let drained = loop {
        // One that was made meanwhile is paused as well.
        pause(stores, org, true).await?;
        let mut running = 0;
        for organization in meant(stores, org).await? {
            let tally = stores.store.tally(&organization.org_id).await;
            running += tally.map_err(refused)?.slots;
        }
        if running <= 0 {
            break Ok(json!({ "paused": true, "running": 0 }));
        }
        if began.elapsed() >= limit {
            break Err(Failure::Refused(format!(
                "{running} runs are still active\n  what to do: continue to wait with `awo admin \
                 drain`, or list them with `awo admin runs --status running`; no run starts until \
                 `awo admin resume`"
            )));
        }
        screen.now(format!("{running} runs are active"));
        tokio::time::sleep(PAUSE).await;
    };
    screen.end();
    drained
}
