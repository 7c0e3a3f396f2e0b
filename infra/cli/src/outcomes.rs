//! `awo outcomes`: what became of pull requests, and what a merged one costs.

use std::collections::BTreeMap;

use awo_domain::Timestamp;
use clap::Args;
use serde::Deserialize;

use crate::answers;
use crate::client::Client;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::list::Query;
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use crate::report_pages::{first_page, further_rows};

const PATH: &str = "/v1/outcomes";
/// Stands for a number that there is not.
const NONE: &str = "-";

/// Arguments of `awo outcomes`.
#[derive(Debug, Args)]
pub struct Outcomes {
    /// Threads that were created on this UTC date or later [default: the first of this month]
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// End of the period, excluded
    #[arg(long, value_name = "DATE")]
    to: Option<String>,
    /// Group the rows by agent, harness, repository, tenant, trigger or label:NAME
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Print the API's table as CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

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

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    #[serde(default)]
    group: BTreeMap<String, String>,
    threads: u64,
    with_pull_request: u64,
    open: u64,
    merged: u64,
    closed: u64,
    merge_rate: Option<f64>,
    credits: f64,
    credits_per_merged: Option<f64>,
    median_hours_to_merge: Option<f64>,
    merged_as_verified: u64,
}

/// Shows outcomes.
pub async fn run(client: &Client, arguments: &Outcomes, output: &Output) -> Result<(), Failure> {
    let texts = [
        ("from", &arguments.from),
        ("to", &arguments.to),
        ("groupBy", &arguments.by),
    ];
    let texts = texts.into_iter();
    let texts = texts.filter_map(|(name, value)| Some((name, value.clone()?)));
    let query: Query = texts.collect();
    let page = first_page(client, (PATH, &query), arguments.csv, output).await?;
    let Some(page) = page else {
        return Ok(());
    };
    let mut answer: Answer = answers::read(&page)?;
    let further = further_rows(client, (PATH, &query), answer.next_cursor.take());
    answer.rows.extend(further.await?);
    show_rows(&answer, output)?;
    if output.is_for_programs() {
        return Ok(());
    }
    output.line("")?;
    show_totals(&answer, output)
}

fn show_rows(answer: &Answer, output: &Output) -> Result<(), Failure> {
    let mut grid = Grid::new(&[
        Column::cut("group", 0),
        Column::number("threads", 0),
        Column::number("open", 1),
        Column::number("merged", 0),
        Column::number("closed", 1),
        Column::number("merge rate", 0),
        Column::number("credits", 1),
        Column::number("per merged", 0),
    ]);
    for row in &answer.rows {
        let group = row.group.values().next().map_or("all", String::as_str);
        grid.row(vec![
            Entry::text(group),
            Entry::text(row.threads),
            Entry::text(row.open),
            Entry::text(row.merged),
            Entry::text(row.closed),
            Entry::text(percent(row.merge_rate)),
            Entry::text(row.credits),
            Entry::text(number(row.credits_per_merged)),
        ]);
    }
    grid.show_rows("outcomes", output)
}

fn show_totals(answer: &Answer, output: &Output) -> Result<(), Failure> {
    let totals = &answer.totals;
    let (from, to) = (clean_line(&answer.from), clean_line(&answer.to));
    field(output, "created", format!("{from} to {to}"))?;
    let (threads, with) = (totals.threads, totals.with_pull_request);
    field(
        output,
        "threads",
        format!("{threads}, {with} with a pull request"),
    )?;
    let (open, merged, closed) = (totals.open, totals.merged, totals.closed);
    let verified = totals.merged_as_verified;
    let merged = format!("{merged} merged ({verified} as verified), {closed} closed, {open} open");
    field(output, "pull requests", merged)?;
    field(output, "merge rate", percent(totals.merge_rate))?;
    field(output, "credits", totals.credits)?;
    field(output, "per merged", number(totals.credits_per_merged))?;
    let hours = totals.median_hours_to_merge;
    let hours = hours.map_or_else(|| NONE.to_owned(), |hours| format!("{hours:.1} h"));
    field(output, "to merge", hours)?;
    match answer.as_of {
        Some(as_of) => field(output, "known at", as_of),
        None => Ok(()),
    }
}

fn number(number: Option<f64>) -> String {
    number.map_or_else(|| NONE.to_owned(), |number| number.to_string())
}

fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| NONE.to_owned(), |rate| format!("{:.1} %", rate * 100.0))
}
