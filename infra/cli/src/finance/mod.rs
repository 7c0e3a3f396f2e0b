//! `awo finance`: bookings, for reviewers.

pub mod arguments;
pub mod budgets;
pub mod close;
mod export;
mod prices;
mod provider_report;
mod reconcile;
pub mod statements;

use std::collections::BTreeMap;

use awo_domain::Timestamp;
use serde::Deserialize;

use crate::answers;
use crate::client::Client;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use crate::report_pages::{first_page, further_rows};
use arguments::{FinanceAction, Report};

const PATH: &str = "/v1/usage/report";
/// The shortest period that a forecast is based on.
const HOUR_MS: i64 = 3_600_000;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    from: String,
    to: String,
    as_of: Option<Timestamp>,
    rows: Vec<Row>,
    totals: Row,
    next_cursor: Option<String>,
}

/// A row, or all of them.
#[derive(Debug, Deserialize)]
struct Row {
    #[serde(default)]
    bucket: String,
    #[serde(default)]
    group: BTreeMap<String, String>,
    runs: i64,
    #[serde(default)]
    succeeded: i64,
    failed: i64,
    credits: f64,
    refunds: f64,
}

/// Does what is asked.
pub async fn run(client: &Client, action: &FinanceAction, output: &Output) -> Result<(), Failure> {
    match action {
        FinanceAction::Report(wanted) => report(client, wanted, output).await,
        FinanceAction::Budgets(wanted) => budgets::run(client, wanted, output).await,
        FinanceAction::Statements(wanted) => statements::show(client, wanted, output).await,
        FinanceAction::Verify => statements::verify(client, output).await,
        // It asks no service, and was done before.
        FinanceAction::Close(_) => Ok(()),
        FinanceAction::Prices(wanted) => prices::show(client, wanted, output).await,
        FinanceAction::Reconcile(wanted) => reconcile::run(client, wanted, output).await,
        FinanceAction::Export(wanted) => export::run(client, wanted, output).await,
    }
}

/// Shows what was booked.
pub async fn report(client: &Client, wanted: &Report, output: &Output) -> Result<(), Failure> {
    let dates = [("from", &wanted.from), ("to", &wanted.to)].into_iter();
    let dates = dates.filter_map(|(name, value)| Some((name, value.clone()?)));
    let mut query: Vec<(&str, String)> = dates.collect();
    query.push(("groupBy", wanted.by.clone()));
    query.push(("bucket", wanted.bucket.clone()));
    let only = wanted.only.iter();
    query.extend(only.map(|(name, value)| (name.as_str(), value.clone())));
    let page = first_page(client, (PATH, &query), wanted.csv, output).await?;
    let Some(page) = page else {
        return Ok(());
    };
    let mut answer: Answer = answers::read(&page)?;
    let further = further_rows(client, (PATH, &query), answer.next_cursor.take());
    answer.rows.extend(further.await?);
    show(&answer, output)
}

fn show(answer: &Answer, output: &Output) -> Result<(), Failure> {
    let most = answer
        .rows
        .iter()
        .map(|row| row.credits)
        .fold(0.0, f64::max);
    let mut grid = Grid::new(&[
        Column::cut("group", 0),
        Column::whole("period", 1),
        Column::number("runs", 0),
        Column::number("failed", 1),
        Column::number("credits", 0),
        Column::number("refunds", 1),
        Column::bar("share"),
    ]);
    for row in &answer.rows {
        let group: Vec<&str> = row.group.values().map(String::as_str).collect();
        grid.row(vec![
            Entry::text(group.join(" / ")),
            Entry::text(&row.bucket),
            Entry::text(row.runs),
            Entry::text(row.failed),
            Entry::text(row.credits),
            Entry::text(row.refunds),
            Entry::bar(row.credits, most),
        ]);
    }
    grid.show_rows("costs", output)?;
    if output.is_for_programs() {
        return Ok(());
    }
    output.line("")?;
    let (from, to) = (clean_line(&answer.from), clean_line(&answer.to));
    field(output, "period", format!("{from} to {to}"))?;
    let of = &answer.totals;
    field(
        output,
        "runs",
        format!("{}, {} of them failed", of.runs, of.failed),
    )?;
    field(output, "charged", format!("{} credits", of.credits))?;
    field(output, "refunded", format!("{} credits", of.refunds))?;
    let net = of.credits - of.refunds;
    field(output, "spent", format!("{} credits", exact(net)))?;
    if of.succeeded > 0 {
        let each = exact(net / of.succeeded as f64);
        let each = format!("{each} credits for each of {} that succeeded", of.succeeded);
        field(output, "per result", each)?;
    }
    match answer.share_gone() {
        Some(gone) => {
            let forecast = format!("{} credits by its end at this rate", exact(net / gone));
            field(output, "forecast", forecast)
        }
        None => Ok(()),
    }
}

impl Answer {
    /// How much of the period is over, if it is not over yet: an hour at least.
    fn share_gone(&self) -> Option<f64> {
        let bound = |text: &str| Timestamp::parse_bound(text).ok();
        let (from, to, now) = (bound(&self.from)?, bound(&self.to)?, self.as_of?);
        let gone_ms = now.ms_since(from).max(HOUR_MS);
        (from <= now && now < to).then(|| gone_ms as f64 / to.ms_since(from) as f64)
    }
}

/// As exact as the ledger is: six places.
fn exact(credits: f64) -> f64 {
    (credits * 1e6).round() / 1e6
}
