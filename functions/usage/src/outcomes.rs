//! A report of outcomes as CSV.

use awo_domain::csv::cell;
use awo_domain::outcome::{OutcomeCounts, OutcomeDimension, OutcomeReport};

use crate::csv::usd;

const COUNTS: [&str; 10] = [
    "threads",
    "withPullRequest",
    "open",
    "merged",
    "closed",
    "mergeRate",
    "credits",
    "creditsPerMerged",
    "medianHoursToMerge",
    "mergedAsVerified",
];

/// The rows as RFC 4180 has them.
pub(crate) fn csv(by: Option<&OutcomeDimension>, report: &OutcomeReport) -> String {
    let name = by.map(OutcomeDimension::name);
    let mut header: Vec<String> = name.iter().map(|name| cell(name)).collect();
    header.extend(COUNTS.map(str::to_owned));
    let mut text = format!("{}\r\n", header.join(","));
    for row in &report.rows {
        let group = name.iter().filter_map(|name| row.group.get(name));
        let mut cells: Vec<String> = group.map(|value| cell(value)).collect();
        cells.extend(numbers(&row.counts));
        text += &format!("{}\r\n", cells.join(","));
    }
    text
}

fn numbers(counts: &OutcomeCounts) -> [String; 10] {
    // A millionth of a credit is a thousand billionths.
    let credits = |micro: i64| usd(micro.saturating_mul(1_000));
    let number = |number: Option<f64>| number.map(|number| number.to_string());
    let per_merged = counts.credits_per_merged();
    [
        counts.threads.to_string(),
        counts.with_pull_request.to_string(),
        counts.open.to_string(),
        counts.merged.to_string(),
        counts.closed.to_string(),
        number(counts.merge_rate()).unwrap_or_default(),
        credits(counts.credits.micro()),
        per_merged
            .map(|per| credits(per.micro()))
            .unwrap_or_default(),
        number(counts.median_hours_to_merge()).unwrap_or_default(),
        counts.merged_as_verified.to_string(),
    ]
}
