//! `awo finance statements` and `awo finance verify`: the months of the ledger, and whether they are
//! what they were when they were closed.

use awo_domain::money::MicroCredits;
use awo_domain::statement::{Month, Statement, StatementStatus};
use clap::Args;
use serde::Deserialize;

use crate::answers;
use crate::client::Client;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;

const PATH: &str = "/v1/statements";
const LEDGER: &str = "/v1/credits/usage";
/// Items of a page.
const PAGE: &str = "100";
/// Most pages that are read of a list.
const MAX_PAGES: usize = 100_000;

#[derive(Debug, Args)]
pub struct Statements {
    /// Month, such as 2026-11 [default: all months]
    #[arg(value_name = "MONTH", value_parser = month)]
    pub month: Option<Month>,
    /// Print CSV
    #[arg(long, conflicts_with_all = ["json", "html"])]
    pub csv: bool,
    /// Print an HTML page for printing; requires a month
    #[arg(long, conflicts_with = "json", requires = "month")]
    pub html: bool,
}

/// Reads a month.
pub fn month(text: &str) -> Result<Month, String> {
    Month::parse(text)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    statements: Vec<Statement>,
    #[serde(default)]
    transactions: Vec<MonthTransaction>,
    next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
struct MonthTransaction {
    #[serde(rename = "type")]
    kind: String,
    amount: f64,
}

/// Shows the months, or one of them.
pub async fn show(client: &Client, wanted: &Statements, output: &Output) -> Result<(), Failure> {
    let path = match &wanted.month {
        Some(month) => format!("{PATH}/{month}"),
        None => PATH.to_owned(),
    };
    let media_type = [(wanted.csv, "text/csv"), (wanted.html, "text/html")];
    if let Some((_, media_type)) = media_type.into_iter().find(|(is, _)| *is) {
        let text = client.get_as(&path, &[], media_type).await?;
        return output.line(text.trim_end());
    }
    if wanted.month.is_none() && !output.is_json() {
        return list(&all(client).await?, output);
    }
    let text = client.get(&path, &[]).await?;
    if output.is_json() {
        output.line(&text)
    } else {
        one(&answers::read(&text)?, output)
    }
}

/// Every month, oldest first.
async fn all(client: &Client) -> Result<Vec<Statement>, Failure> {
    let mut all: Vec<Statement> = Vec::new();
    for page in pages(client, PATH, &[]).await? {
        all.extend(page.statements);
    }
    all.reverse();
    Ok(all)
}

async fn pages(
    client: &Client,
    path: &str,
    query: &[(&str, String)],
) -> Result<Vec<Page>, Failure> {
    let mut query = query.to_vec();
    query.push(("limit", PAGE.to_owned()));
    let (mut pages, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let mut next = query.clone();
        next.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let page: Page = answers::read(&client.get(path, &next).await?)?;
        cursor.clone_from(&page.next_cursor);
        pages.push(page);
        if cursor.is_none() {
            break;
        }
    }
    Ok(pages)
}

fn list(all: &[Statement], output: &Output) -> Result<(), Failure> {
    let mut grid = Grid::new(&[
        Column::whole("month", 0),
        Column::whole("status", 0),
        Column::number("opening", 1),
        Column::number("purchases", 2),
        Column::number("deductions", 0),
        Column::number("refunds", 2),
        Column::number("closing", 0),
    ]);
    for of in all.iter().rev() {
        grid.row(vec![
            Entry::text(&of.month),
            Entry::text(status(of)),
            Entry::text(of.opening_balance.to_decimal()),
            Entry::text(of.purchases.to_decimal()),
            Entry::text(of.deductions.to_decimal()),
            Entry::text(of.refunds.to_decimal()),
            Entry::text(of.closing_balance.to_decimal()),
        ]);
    }
    grid.show_rows("statements", output)
}

fn status(of: &Statement) -> &'static str {
    match of.status {
        StatementStatus::Open => "open",
        StatementStatus::Closed => "closed",
    }
}

fn one(of: &Statement, output: &Output) -> Result<(), Failure> {
    let credits = |of: MicroCredits| format!("{} credits", of.to_decimal());
    field(output, "month", &of.month)?;
    let closed = of
        .closed_at
        .map(|at| format!(", since {}", output.time(&at.to_string())));
    field(
        output,
        "status",
        format!("{}{}", status(of), closed.unwrap_or_default()),
    )?;
    if let Some(as_of) = of.as_of {
        field(output, "counted up to", output.time(&as_of.to_string()))?;
    }
    if let Some(label) = &of.label {
        field(output, "cost label", clean_line(label))?;
    }
    field(output, "opening balance", credits(of.opening_balance))?;
    field(output, "purchases", credits(of.purchases))?;
    field(output, "deductions", credits(of.deductions))?;
    field(output, "refunds", credits(of.refunds))?;
    field(output, "closing balance", credits(of.closing_balance))?;
    field(output, "open holds", credits(of.open_holds))?;
    for correction in &of.corrections {
        let (kind, run) = (correction.kind.as_str(), &correction.run_id);
        let about = format!(
            "{kind} of {run}, {}: {}",
            correction.month,
            credits(correction.credits)
        );
        field(output, "correction", about)?;
    }
    field(
        output,
        "hash",
        clean_line(of.hash.as_deref().unwrap_or_default()),
    )?;
    output.line("")?;
    let mut grid = Grid::new(&[
        Column::cut("tenant", 0),
        Column::cut(if of.label.is_some() { "value" } else { "label" }, 0),
        Column::cut("model", 0),
        Column::number("credits", 0),
    ]);
    for row in &of.rows {
        grid.row(vec![
            Entry::text(&row.tenant),
            Entry::text(&row.label),
            Entry::text(&row.model),
            Entry::text(row.credits.to_decimal()),
        ]);
    }
    grid.show_rows("rows", output)
}

/// Checks the chain of closed months, and each against the ledger.
pub async fn verify(client: &Client, output: &Output) -> Result<(), Failure> {
    let (mut faults, mut checked) = (Vec::new(), 0_usize);
    let mut previous: Option<Statement> = None;
    for of in all(client)
        .await?
        .into_iter()
        .filter(|of| of.status == StatementStatus::Closed)
    {
        let fault = of
            .fault(previous.as_ref())
            .map_err(|e| Failure::Refused(e.to_string()))?;
        faults.extend(fault.map(|why| format!("{}: {why}", of.month)));
        let ledger = of_ledger(client, &of.month).await?;
        if ledger != (of.purchases, of.deductions, of.refunds) {
            faults.push(format!("{}: the ledger has another amount", of.month));
        }
        checked += 1;
        previous = Some(of);
    }
    if output.is_json() {
        let sound = faults.is_empty();
        output.line(
            &serde_json::json!({ "sound": sound, "months": checked, "faults": faults }).to_string(),
        )?;
    } else {
        field(output, "closed months", checked)?;
        field(
            output,
            "chain and ledger",
            if faults.is_empty() {
                "agree"
            } else {
                "do not agree"
            },
        )?;
        faults
            .iter()
            .try_for_each(|fault| output.line(&clean_line(fault)))?;
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Failure::NotDone)
    }
}

/// Purchases, deductions and refunds of a month, entry by entry.
async fn of_ledger(
    client: &Client,
    month: &Month,
) -> Result<(MicroCredits, MicroCredits, MicroCredits), Failure> {
    let zero = MicroCredits::ZERO;
    let (mut purchases, mut deductions, mut refunds) = (zero, zero, zero);
    let query = [
        ("startDate", month.start().day()),
        ("endDate", month.end().day()),
    ];
    for page in pages(client, LEDGER, &query).await? {
        for entry in page.transactions {
            let amount = MicroCredits::from_decimal(entry.amount).map_err(Failure::Refused)?;
            let sum = match entry.kind.as_str() {
                "purchase" => &mut purchases,
                "deduction" => &mut deductions,
                _ => &mut refunds,
            };
            *sum = sum.plus(amount);
        }
    }
    Ok((purchases, deductions, refunds))
}
