//! A cost report as CSV.

use awo_contract::usage::report::columns;
use awo_domain::cost::measures::Measures;
use awo_domain::cost::report::{Bucket, ReportQuery};
use awo_domain::csv::cell;
use awo_store::costs::report::CostReport;

use crate::csv::usd;

/// The rows as RFC 4180 has them.
pub fn csv(asked: &ReportQuery, report: &CostReport) -> String {
    let columns = columns(asked, true);
    let bucket = (asked.bucket != Bucket::None).then(|| "bucket".to_owned());
    let mut header: Vec<String> = bucket.into_iter().collect();
    header.extend(columns.iter().map(|name| cell(name)));
    header.extend(MEASURES.map(str::to_owned));
    let mut text = format!("{}\r\n", header.join(","));
    for row in &report.rows {
        let group = |name: &String| cell(row.group.get(name).map_or("", String::as_str));
        let mut cells: Vec<String> = row.bucket.iter().cloned().collect();
        cells.extend(columns.iter().map(group));
        cells.extend(numbers(&row.measures));
        text += &format!("{}\r\n", cells.join(","));
    }
    text
}

const MEASURES: [&str; 15] = [
    "runs",
    "succeeded",
    "failed",
    "canceled",
    "inputTokens",
    "cachedInputTokens",
    "outputTokens",
    "modelUsd",
    "computeMinutes",
    "modelCredits",
    "computeCredits",
    "cappedCredits",
    "freeCredits",
    "credits",
    "refunds",
];

fn numbers(of: &Measures) -> [String; 15] {
    // A millionth of a credit is a thousand billionths.
    let credits = |micro: i64| usd(micro.saturating_mul(1_000));
    [
        of.runs.to_string(),
        of.succeeded.to_string(),
        of.failed.to_string(),
        of.canceled.to_string(),
        of.input_tokens.to_string(),
        of.cached_input_tokens.to_string(),
        of.output_tokens.to_string(),
        usd(of.model_usd_nano),
        credits(of.compute_seconds.saturating_mul(1_000_000) / 60),
        credits(of.model_micro),
        credits(of.compute_micro),
        credits(of.capped_micro),
        credits(of.free_micro),
        credits(of.credits_micro),
        credits(of.refunds_micro),
    ]
}
