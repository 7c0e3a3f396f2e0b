//! A cost report as the API shows it.

use std::collections::BTreeMap;
use std::ops::Range;

use awo_domain::Timestamp;
use awo_domain::cost::labels::CostLabels;
use awo_domain::cost::measures::Measures;
use awo_domain::cost::report::{Dimension, ReportQuery, Row};
use awo_domain::money::{MicroCredits, NanoUsd};
use awo_store::costs::report::CostReport;
use serde::Serialize;
use utoipa::ToSchema;

/// A row: what runs of a group used and cost.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageReportRow {
    /// The day or the month, if the report has buckets.
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket: Option<String>,
    /// The values of the row's groups, by their names; absent in totals.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<BTreeMap<String, String>>,
    /// Settled runs.
    runs: i64,
    /// Of them, those that succeeded.
    succeeded: i64,
    /// Of them, those that failed.
    failed: i64,
    /// Of them, those that were canceled.
    canceled: i64,
    /// All input tokens, cached ones included.
    input_tokens: i64,
    /// Input tokens that providers read from their caches.
    cached_input_tokens: i64,
    /// Output tokens.
    output_tokens: i64,
    /// The cost of the models.
    model_usd: NanoUsd,
    /// By started second.
    compute_minutes: f64,
    /// The cost of the models, in credits.
    model_credits: MicroCredits,
    /// The cost of compute, in credits.
    compute_credits: MicroCredits,
    /// The amount that holds did not cover.
    capped_credits: MicroCredits,
    /// The amount not charged, because the platform lost the run.
    free_credits: MicroCredits,
    /// The charge: model + compute − capped − free.
    credits: MicroCredits,
    /// The refunds.
    refunds: MicroCredits,
}

impl UsageReportRow {
    fn of(
        bucket: Option<String>,
        group: Option<BTreeMap<String, String>>,
        of: &Measures,
    ) -> UsageReportRow {
        UsageReportRow {
            bucket,
            group,
            runs: of.runs,
            succeeded: of.succeeded,
            failed: of.failed,
            canceled: of.canceled,
            input_tokens: of.input_tokens,
            cached_input_tokens: of.cached_input_tokens,
            output_tokens: of.output_tokens,
            model_usd: NanoUsd::from_nano(of.model_usd_nano),
            compute_minutes: minutes(of.compute_seconds),
            model_credits: MicroCredits::from_micro(of.model_micro),
            compute_credits: MicroCredits::from_micro(of.compute_micro),
            capped_credits: MicroCredits::from_micro(of.capped_micro),
            free_credits: MicroCredits::from_micro(of.free_micro),
            credits: MicroCredits::from_micro(of.credits_micro),
            refunds: MicroCredits::from_micro(of.refunds_micro),
        }
    }
}

/// The amounts that were booked in a period.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageReportShape {
    /// The period's first moment; a day, if it begins at midnight.
    from: String,
    /// The first moment after it.
    to: String,
    /// The dimension of the rows.
    group_by: String,
    /// Into what periods the rows are divided: `none`, `day` or `month`.
    bucket: &'static str,
    /// The rows of this page, by period, value and model.
    rows: Vec<UsageReportRow>,
    /// All rows of all pages; a run that used several models counts once.
    totals: UsageReportRow,
    /// The names of the declared cost labels: `label:` and one of them is a dimension.
    labels: Vec<String>,
    /// Everything that was booked until then is counted.
    as_of: Timestamp,
    /// True if there is another page.
    has_more: bool,
    /// The next page's `cursor`; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl UsageReportShape {
    /// Rows `page` of a report, and the declared cost labels.
    pub fn of(
        query: &ReportQuery,
        (report, labels): (&CostReport, &CostLabels),
        page: Range<usize>,
        next_cursor: Option<String>,
        now: Timestamp,
    ) -> UsageReportShape {
        let row = |row: &Row| {
            let group = Some(row.group.clone());
            UsageReportRow::of(row.bucket.clone(), group, &row.measures)
        };
        let rows = report.rows.iter().skip(page.start).take(page.len());
        UsageReportShape {
            from: bound(query.span.from, now),
            to: bound(query.span.until, now),
            group_by: columns(query, false).join(","),
            bucket: query.bucket.as_str(),
            rows: rows.map(row).collect(),
            totals: UsageReportRow::of(None, None, &report.totals),
            labels: labels.all().iter().map(|one| one.name.clone()).collect(),
            as_of: now,
            has_more: next_cursor.is_some(),
            next_cursor,
        }
    }
}

/// An end of a period: a day, if it is midnight.
pub(crate) fn bound(time: Option<Timestamp>, now: Timestamp) -> String {
    let time = time.unwrap_or(now);
    if time.start_of_day() == time {
        time.day()
    } else {
        time.to_string()
    }
}

fn minutes(seconds: i64) -> f64 {
    MicroCredits::from_micro(seconds.saturating_mul(1_000_000) / 60).to_decimal()
}

/// The dimension of rows. A user has its tenant beside it.
#[must_use]
pub fn columns(query: &ReportQuery, with_tenants: bool) -> Vec<String> {
    let tenant = query.by == Some(Dimension::TenantUser) && with_tenants;
    let tenant = tenant.then(|| Dimension::Tenant.name());
    let by = query.by.iter().map(Dimension::name);
    let model = query.by_model.then(|| "model".to_owned());
    model.into_iter().chain(tenant).chain(by).collect()
}
