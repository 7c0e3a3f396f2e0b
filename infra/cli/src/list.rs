//! The commands that list: `list`, `runs`, `credits`.

use serde_json::{Value, json};

use crate::answers::{self, Balance, Run, Transactions, WorkOrder};
use crate::arguments::{Credits, List, Part, Runs};
use crate::client::Client;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::{Format, Output};
use crate::progress::seconds;
use crate::read::field;
use crate::reference;

/// Page size when everything is wanted.
const PAGE: u32 = 100;
/// Most pages of a whole list.
const MAX_PAGES: u32 = 10_000;

pub type Query = Vec<(&'static str, String)>;

/// Lists work orders.
pub async fn list(client: &Client, filter: &List, output: &Output) -> Result<(), Failure> {
    let mut query = Query::new();
    query.extend(filter.status.clone().map(|s| ("status", s)));
    query.extend(filter.tenant.clone().map(|t| ("tenantId", t)));
    query.extend(filter.tenant_user.clone().map(|t| ("tenantUserId", t)));
    query.extend(filter.schedule.clone().map(|id| ("scheduleId", id)));
    query.extend(filter.trigger.clone().map(|id| ("triggerId", id)));
    if let Some(parent) = &filter.parent {
        let parent = reference::work_order(client, parent).await?;
        query.push(("parentId", parent.to_string()));
    }
    let text = pages(client, "/v1/work-orders", "workOrders", query, &filter.part).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let (orders, total): (Vec<WorkOrder>, u64) = items(&text, "workOrders")?;
    let mut grid = Grid::new(&[
        Column::whole("work order", 0),
        Column::whole("status", 0),
        Column::whole("verified", 2),
        Column::whole("created", 1),
        Column::whole("run", 4),
        Column::cut("task", 0),
    ]);
    for order in &orders {
        grid.row(vec![
            Entry::text(&order.id),
            Entry::status(&order.status),
            verified(&order.status, order.verified),
            Entry::time(&order.created_at, output),
            Entry::text(&order.run_id),
            Entry::text(
                order
                    .task_prompt
                    .trim_start()
                    .lines()
                    .next()
                    .unwrap_or_default(),
            ),
        ]);
    }
    grid.show(total, "work orders", output)
}

/// Lists runs.
pub async fn runs(client: &Client, filter: &Runs, output: &Output) -> Result<(), Failure> {
    let mut query = Query::new();
    if let Some(order) = &filter.work_order {
        let order = reference::work_order(client, order).await?;
        query.push(("workOrderId", order.to_string()));
    }
    query.extend(filter.status.clone().map(|s| ("status", s)));
    query.extend(filter.tenant.clone().map(|t| ("tenantId", t)));
    let text = pages(client, "/v1/runs", "runs", query, &filter.part).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let (runs, total): (Vec<Run>, u64) = items(&text, "runs")?;
    let mut grid = Grid::new(&[
        Column::whole("run", 0),
        Column::whole("status", 0),
        Column::whole("verified", 3),
        Column::number("iteration", 4),
        Column::whole("created", 1),
        Column::number("took", 3),
        Column::number("credits", 2),
        Column::cut("result", 0),
    ]);
    for run in &runs {
        let error = run.error.as_ref().map(|error| error.code.as_str());
        let result = error.or(run.branch.as_deref()).unwrap_or_default();
        let credits = run.cost.as_ref().map(|cost| cost.credits.to_string());
        grid.row(vec![
            Entry::text(&run.run_id),
            Entry::status(&run.status),
            verified(&run.status, run.verified),
            Entry::text(run.iteration),
            Entry::time(&run.created_at, output),
            Entry::text(run.duration_ms().map(seconds).unwrap_or_default()),
            Entry::text(credits.unwrap_or_default()),
            Entry::text(result),
        ]);
    }
    grid.show(total, "runs", output)
}

/// `yes` or `no` of what succeeded.
fn verified(status: &str, verified: Option<bool>) -> Entry {
    Entry::text(match answers::verification(status, verified) {
        Some("verified") => "yes",
        Some(_) => "no",
        None => "",
    })
}

/// Shows balance and transactions. With `--json` it is one answer of the API, so one of the two.
pub async fn credits(client: &Client, wanted: &Credits, output: &Output) -> Result<(), Failure> {
    let is_list = wanted.transactions || wanted.is_filtered();
    if !is_list && output.format != Format::Ids {
        let text = client.get("/v1/credits", &[]).await?;
        if output.is_json() {
            return output.line(&text);
        }
        let balance: Balance = answers::read(&text)?;
        field(output, "balance", balance.balance)?;
        field(output, "reserved", balance.reserved)?;
        field(output, "available", balance.available)?;
        if output.is_for_programs() {
            return Ok(());
        }
        output.line("")?;
    }
    transactions(client, wanted, output).await
}

async fn transactions(client: &Client, wanted: &Credits, output: &Output) -> Result<(), Failure> {
    let part = Part {
        limit: wanted.limit,
        all: wanted.all,
    };
    let text = pages(
        client,
        "/v1/credits/usage",
        "transactions",
        wanted.query(),
        &part,
    )
    .await?;
    if output.is_json() {
        return output.line(&text);
    }
    let page: Transactions = answers::read(&text)?;
    let mut grid = Grid::new(&[
        Column::whole("transaction", 0),
        Column::whole("type", 0),
        Column::number("credits", 0),
        Column::whole("created", 0),
        Column::cut("tenant", 1),
        Column::whole("run", 2),
    ]);
    for entry in &page.transactions {
        grid.row(vec![
            Entry::text(&entry.id),
            Entry::text(&entry.kind),
            Entry::text(signed(&entry.kind, entry.amount)),
            Entry::time(&entry.created_at, output),
            Entry::text(entry.tenant_id.as_deref().unwrap_or_default()),
            Entry::text(entry.run_id.as_deref().unwrap_or_default()),
        ]);
    }
    grid.show(page.total, "transactions", output)
}

/// The type implies the direction of an amount.
fn signed(kind: &str, amount: f64) -> String {
    if kind == "deduction" {
        format!("-{amount}")
    } else {
        format!("+{amount}")
    }
}

/// One page as it came, or all pages as one list.
pub async fn pages(
    client: &Client,
    path: &str,
    plural: &str,
    mut query: Query,
    part: &Part,
) -> Result<String, Failure> {
    let limit = if part.all { PAGE } else { part.limit };
    query.push(("limit", limit.to_string()));
    if !part.all {
        return client.get(path, &query).await;
    }
    let mut all: Vec<Value> = Vec::new();
    let mut total = json!(0);
    let filter = query.clone();
    for _ in 0..MAX_PAGES {
        let mut page: Value = answers::read(&client.get(path, &query).await?)?;
        if let Some(items) = page[plural].as_array_mut() {
            all.append(items);
        }
        total = page["total"].take();
        let Some(cursor) = page["nextCursor"].as_str() else {
            break;
        };
        query = filter.clone();
        query.push(("cursor", cursor.to_owned()));
    }
    Ok(json!({ plural: all, "total": total }).to_string())
}

pub fn items<T: serde::de::DeserializeOwned>(
    text: &str,
    plural: &str,
) -> Result<(Vec<T>, u64), Failure> {
    let mut page: Value = answers::read(text)?;
    let total = page["total"].as_u64().unwrap_or(0);
    Ok((answers::read(&page[plural].take().to_string())?, total))
}
