//! Outcomes of threads as the API shows them.

use std::collections::BTreeMap;
use std::ops::Range;

use awo_domain::Timestamp;
use awo_domain::money::MicroCredits;
use awo_domain::outcome::{OutcomeCounts, OutcomeDimension, OutcomeReport, OutcomeRow, as_of};
use awo_domain::span::Span;
use serde::Serialize;
use utoipa::ToSchema;

use crate::usage::report::bound;

/// A row: threads of a group, and what became of their pull requests.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeRowShape {
    /// The value of the row's group, by its name; absent in totals.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<BTreeMap<String, String>>,
    /// Threads that were created in the period.
    threads: u64,
    /// Threads with a pull request.
    with_pull_request: u64,
    /// Pull requests that are open.
    open: u64,
    /// Pull requests that were merged.
    merged: u64,
    /// Pull requests that were closed without a merge.
    closed: u64,
    /// `merged` ÷ (`merged` + `closed`); null without either.
    #[schema(required)]
    merge_rate: Option<f64>,
    /// Deductions less refunds of all runs of the threads, those without a pull request too.
    credits: MicroCredits,
    /// `credits` ÷ `merged`; null without a merge.
    #[schema(required)]
    credits_per_merged: Option<MicroCredits>,
    /// Median time from the first creation of a thread to a merge, in hours; null without a merge.
    #[schema(required)]
    median_hours_to_merge: Option<f64>,
    /// Merged pull requests whose merged head is the last verified commit.
    merged_as_verified: u64,
}

impl OutcomeRowShape {
    fn of(group: Option<BTreeMap<String, String>>, counts: &OutcomeCounts) -> OutcomeRowShape {
        OutcomeRowShape {
            group,
            threads: counts.threads,
            with_pull_request: counts.with_pull_request,
            open: counts.open,
            merged: counts.merged,
            closed: counts.closed,
            merge_rate: counts.merge_rate(),
            credits: counts.credits,
            credits_per_merged: counts.credits_per_merged(),
            median_hours_to_merge: counts.median_hours_to_merge(),
            merged_as_verified: counts.merged_as_verified,
        }
    }
}

/// Outcomes of the threads that were created in a period.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OutcomeReport)]
pub struct OutcomeReportShape {
    /// The period's first moment; a day, if it begins at midnight.
    from: String,
    /// The first moment after it.
    to: String,
    /// The dimension of the rows; empty without one.
    group_by: String,
    /// The rows of this page, by value.
    rows: Vec<OutcomeRowShape>,
    /// All threads of all pages.
    totals: OutcomeRowShape,
    /// The time until which is counted: that of the request, or the close of the last month of the period.
    as_of: Timestamp,
    /// True if there is another page.
    has_more: bool,
    /// The next page's `cursor`; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A report of outcomes that was asked for.
#[derive(Debug, Clone)]
pub struct OutcomeQuery {
    /// The period of the threads' first creation.
    pub span: Span,
    /// The dimension of rows.
    pub by: Option<OutcomeDimension>,
}

impl OutcomeReportShape {
    /// Rows `page` of a report.
    #[must_use]
    pub fn of(
        query: &OutcomeQuery,
        report: &OutcomeReport,
        page: Range<usize>,
        next_cursor: Option<String>,
        now: Timestamp,
    ) -> OutcomeReportShape {
        let row = |row: &OutcomeRow| OutcomeRowShape::of(Some(row.group.clone()), &row.counts);
        let rows = report.rows.iter().skip(page.start).take(page.len());
        OutcomeReportShape {
            from: bound(query.span.from, now),
            to: bound(query.span.until, now),
            group_by: query
                .by
                .as_ref()
                .map(OutcomeDimension::name)
                .unwrap_or_default(),
            rows: rows.map(row).collect(),
            totals: OutcomeRowShape::of(None, &report.totals),
            as_of: as_of(query.span, now),
            has_more: next_cursor.is_some(),
            next_cursor,
        }
    }
}
