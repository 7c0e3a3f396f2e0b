//! The commands that list: `list`, `runs`, `credits`.

use std::fmt::Display;

use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, presets};
use serde_json::{Value, json};

use crate::answers::{self, Balance, Run, Transactions, WorkOrder};
use crate::arguments::{Credits, List, Part, Runs};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::{Paint, clean_line, shortened};
use crate::progress::seconds;
use crate::read::field;
use crate::reference;
use crate::times::without_ms as short_time;

/// Characters of a prompt that a table shows.
const PROMPT_IN_TABLE: usize = 40;
/// Page size when everything is wanted.
const PAGE: u32 = 100;
/// Most pages of a whole list.
const MAX_PAGES: u32 = 10_000;

type Query = Vec<(&'static str, String)>;

/// Lists work orders.
pub async fn list(client: &Client, filter: &List, output: &Output) -> Result<(), Failure> {
    let mut query = Query::new();
    query.extend(filter.status.clone().map(|s| ("status", s)));
    query.extend(filter.tenant.clone().map(|t| ("tenantId", t)));
    if let Some(parent) = &filter.parent {
        let parent = reference::work_order(client, parent).await?;
        query.push(("parentId", parent.to_string()));
    }
    let text = pages(client, "/v1/work-orders", "workOrders", query, &filter.part).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let (orders, total): (Vec<WorkOrder>, u64) = items(&text, "workOrders")?;
    let mut table = table(&["work order", "status", "verified", "created", "run", "task"]);
    for order in &orders {
        table.add_row(vec![
            Cell::new(clean_line(&order.id)),
            status_cell(&order.status, output.paint),
            verified_cell(&order.status, order.verified),
            Cell::new(short_time(&order.created_at)),
            Cell::new(clean_line(&order.run_id)),
            Cell::new(shortened(&order.task_prompt, PROMPT_IN_TABLE)),
        ]);
    }
    show_table(&table, orders.len(), total, "work orders", output)
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
    let mut table = table(&[
        "run",
        "status",
        "verified",
        "iteration",
        "created",
        "took",
        "credits",
        "result",
    ]);
    for run in &runs {
        let error = run.error.as_ref().map(|error| error.code.as_str());
        let result = error.or(run.branch.as_deref()).unwrap_or_default();
        table.add_row(vec![
            Cell::new(clean_line(&run.run_id)),
            status_cell(&run.status, output.paint),
            verified_cell(&run.status, run.verified),
            number_cell(run.iteration),
            Cell::new(short_time(&run.created_at)),
            number_cell(run.duration_ms().map(seconds).unwrap_or_default()),
            number_cell(
                run.cost
                    .as_ref()
                    .map(|c| c.credits.to_string())
                    .unwrap_or_default(),
            ),
            Cell::new(clean_line(result)),
        ]);
    }
    show_table(&table, runs.len(), total, "runs", output)
}

/// `yes` or `no` of what succeeded.
fn verified_cell(status: &str, verified: Option<bool>) -> Cell {
    Cell::new(match answers::verification(status, verified) {
        Some("verified") => "yes",
        Some(_) => "no",
        None => "",
    })
}

/// Shows balance and transactions. With `--json` it is one answer of the API, so one of the two.
pub async fn credits(client: &Client, wanted: &Credits, output: &Output) -> Result<(), Failure> {
    let query = [("limit", wanted.limit.to_string())];
    if output.is_json() {
        let text = if wanted.transactions {
            client.get("/v1/credits/usage", &query).await?
        } else {
            client.get("/v1/credits", &[]).await?
        };
        return output.line(&text);
    }
    if !wanted.transactions {
        let balance: Balance = answers::read(&client.get("/v1/credits", &[]).await?)?;
        field(output, "balance", balance.balance)?;
        field(output, "reserved", balance.reserved)?;
        field(output, "available", balance.available)?;
        output.line("")?;
    }
    let page: Transactions = answers::read(&client.get("/v1/credits/usage", &query).await?)?;
    let mut table = table(&["transaction", "type", "credits", "created", "run"]);
    for entry in &page.transactions {
        table.add_row(vec![
            Cell::new(clean_line(&entry.id)),
            Cell::new(clean_line(&entry.kind)),
            number_cell(signed(&entry.kind, entry.amount)),
            Cell::new(short_time(&entry.created_at)),
            Cell::new(clean_line(entry.run_id.as_deref().unwrap_or_default())),
        ]);
    }
    show_table(
        &table,
        page.transactions.len(),
        page.total,
        "transactions",
        output,
    )
}

/// The type says the direction of an amount.
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

pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    // Ids are for copying: they are never broken to fit a window.
    table
        .load_style(presets::NOTHING.header_separator(LineStyle::none().fill('─').junction('─')))
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    table
}

pub fn number_cell(number: impl Display) -> Cell {
    Cell::new(number.to_string()).set_alignment(CellAlignment::Right)
}

pub fn status_cell(status: &str, paint: Paint) -> Cell {
    let cell = Cell::new(clean_line(status));
    match status {
        _ if !paint.is_on() => cell,
        "succeeded" | "delivered" | "enabled" => cell.fg(Color::Green),
        "failed" | "canceled" | "abandoned" | "disabled" => cell.fg(Color::Red),
        _ => cell.fg(Color::Yellow),
    }
}

pub fn show_table(
    table: &Table,
    shown: usize,
    total: u64,
    what: &str,
    output: &Output,
) -> Result<(), Failure> {
    if shown == 0 {
        return output.line(&format!("no {what}"));
    }
    output.line(&table.trim_fmt())?;
    output.line(&output.paint.faint(&format!("{shown} of {total} {what}")))
}
