//! `awo usage`: usage of finished runs, as a table and a bar chart, by model or by day; and what was charged, by
//! tenant or by cost label.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::answers;
use crate::arguments::{By, Usage};
use crate::client::Client;
use crate::failure::Failure;
use crate::finance;
use crate::finance::arguments::Report;
use crate::grid::{Column, Entry, Grid};
use crate::list::Query;
use crate::output::Output;
use crate::paint::clean_line;
use crate::read::field;
use crate::reference;

const PATH: &str = "/api/v1/usage/summary";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    total_input_tokens: u64,
    total_output_tokens: u64,
    total_cached_input_tokens: u64,
    total_cost_usd: f64,
    execution_count: u64,
    work_order_count: u64,
    total_duration_ms: u64,
    by_model: BTreeMap<String, Row>,
    #[serde(default)]
    unpriced_models: Vec<String>,
    period_start: String,
    period_end: String,
}

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    execution_count: u64,
    input_tokens: u64,
    output_tokens: u64,
    cost_usd: f64,
}

/// Shows usage.
pub async fn run(client: &Client, wanted: &Usage, output: &Output) -> Result<(), Failure> {
    let by_day = match &wanted.by {
        By::Tenant | By::Label(_) => return charged(client, wanted, output).await,
        By::Day => true,
        By::Model => false,
    };
    let query = query(client, wanted).await?;
    if wanted.csv {
        let csv = client.get_as(PATH, &query, "text/csv").await?;
        return output.line(csv.trim_end());
    }
    let text = client.get(PATH, &query).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let summary: Summary = answers::data(&text)?;
    let rows = if !by_day {
        summary.by_model.clone()
    } else {
        days(&client.get_as(PATH, &query, "text/csv").await?)?
    };
    show_rows(&wanted.by, &rows, output)?;
    if output.is_for_programs() {
        return Ok(());
    }
    output.line("")?;
    show_totals(&summary, output)
}

/// What tenants or labels were charged, as the report of costs has it.
async fn charged(client: &Client, wanted: &Usage, output: &Output) -> Result<(), Failure> {
    if wanted.run.is_some() || wanted.work_order.is_some() {
        let why = "--by tenant and --by label:NAME report what was booked: --run and --work-order do not \
                   narrow that";
        return Err(Failure::Usage(why.to_owned()));
    }
    let model = wanted
        .model
        .clone()
        .map(|model| ("model".to_owned(), model));
    let report = Report {
        from: wanted.from.clone(),
        to: wanted.to.clone(),
        by: wanted.by.name(),
        bucket: "none".to_owned(),
        only: model.into_iter().collect(),
        csv: wanted.csv,
    };
    finance::report(client, &report, output).await
}

async fn query(client: &Client, wanted: &Usage) -> Result<Query, Failure> {
    let texts = [
        ("startDate", &wanted.from),
        ("endDate", &wanted.to),
        ("model", &wanted.model),
    ];
    let there = texts.into_iter();
    let there = there.filter_map(|(name, value)| Some((name, value.clone()?)));
    let mut query: Query = there.collect();
    if let Some(run) = &wanted.run {
        query.push(("runId", reference::run(client, run).await?.to_string()));
    }
    if let Some(order) = &wanted.work_order {
        let order = reference::work_order(client, order).await?;
        query.push(("workOrderId", order.to_string()));
    }
    Ok(query)
}

fn show_rows(by: &By, rows: &BTreeMap<String, Row>, output: &Output) -> Result<(), Failure> {
    let (of, header) = measure(rows);
    let most = rows.values().map(of).fold(0.0, f64::max);
    let mut grid = Grid::new(&[
        Column::whole(if *by == By::Day { "day" } else { "model" }, 0),
        Column::number("runs", 0),
        Column::number("input", 1),
        Column::number("output", 1),
        Column::number("USD", 0),
        Column::bar(header),
    ]);
    for (name, row) in rows {
        grid.row(vec![
            Entry::text(name),
            Entry::text(row.execution_count),
            Entry::text(row.input_tokens),
            Entry::text(row.output_tokens),
            Entry::text(format!("{:.4}", row.cost_usd)),
            Entry::bar(of(row), most),
        ]);
    }
    grid.show_rows("usage", output)
}

fn show_totals(summary: &Summary, output: &Output) -> Result<(), Failure> {
    let (from, to) = (&summary.period_start, &summary.period_end);
    let period = format!("{} to {}", clean_line(from), clean_line(to));
    field(output, "period", period)?;
    let (runs, orders) = (summary.execution_count, summary.work_order_count);
    field(output, "runs", format!("{runs} of {orders} work orders"))?;
    let seconds = summary.total_duration_ms / 1_000;
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    field(output, "compute", format!("{minutes} min {seconds} s"))?;
    let (input, cached) = (
        summary.total_input_tokens,
        summary.total_cached_input_tokens,
    );
    let out = summary.total_output_tokens;
    let tokens = format!("{input} in ({cached} of them cached), {out} out");
    field(output, "tokens", tokens)?;
    field(
        output,
        "model cost",
        format!("{} USD", summary.total_cost_usd),
    )?;
    if !summary.unpriced_models.is_empty() {
        let models = clean_line(&summary.unpriced_models.join(", "));
        field(output, "no price for", models)?;
    }
    Ok(())
}

/// What the bars are of: cost, or executions where nothing has a price.
fn measure(rows: &BTreeMap<String, Row>) -> (fn(&Row) -> f64, &'static str) {
    if rows.values().any(|row| row.cost_usd > 0.0) {
        (|row| row.cost_usd, "cost")
    } else {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a bar has fewer cells than a number has digits"
        )]
        (|row| row.execution_count as f64, "runs")
    }
}

/// The days of the API's table: executions of their own rows, all else of their models'.
fn days(csv: &str) -> Result<BTreeMap<String, Row>, Failure> {
    let broken = || Failure::Broken("the service's CSV cannot be read".to_owned());
    let mut lines = csv.lines();
    let header = cells(lines.next().unwrap_or_default());
    let mut days: BTreeMap<String, Row> = BTreeMap::new();
    for line in lines {
        let cells = cells(line);
        let cell = |name: &str| {
            let at = header.iter().position(|column| column == name);
            at.and_then(|at| cells.get(at)).ok_or_else(broken)
        };
        let number = |name: &str| match cell(name)?.as_str() {
            "" => Ok(0),
            text => text.parse::<u64>().map_err(|_| broken()),
        };
        let day = days.entry(cell("day")?.clone()).or_default();
        if cell("model")?.is_empty() {
            day.execution_count += number("executionCount")?;
            continue;
        }
        day.input_tokens += number("inputTokens")?;
        day.output_tokens += number("outputTokens")?;
        day.cost_usd += cell("costUsd")?.parse::<f64>().map_err(|_| broken())?;
    }
    Ok(days)
}

/// The cells of a line of CSV. A quoted cell holds commas, and quotes twice.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut last, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => last.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut last)),
            c => last.push(c),
        }
    }
    cells.push(last);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_added_up_from_the_rows_of_their_models() {
        let csv = "day,model,executionCount,durationMs,inputTokens,outputTokens,cachedInputTokens,costUsd,unpricedExecutions\r\n\
                   2026-11-20,,3,4000,,,,,\r\n\
                   2026-11-20,\"a,\"\"b\"\"\",2,,10,5,4,0.5,0\r\n\
                   2026-11-20,m,2,,1,2,0,0.25,0\r\n";
        let row = Row {
            execution_count: 3,
            input_tokens: 11,
            output_tokens: 7,
            cost_usd: 0.75,
        };
        assert_eq!(days(csv).unwrap(), [("2026-11-20".to_owned(), row)].into());
        assert!(days("day\r\n2026-11-20\r\n").is_err());
    }
}
