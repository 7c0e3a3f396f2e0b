//! The usage summary as the API shows it.

use std::collections::BTreeMap;

use awo_domain::Timestamp;
use awo_domain::money::NanoUsd;
use awo_domain::span::Span;
use awo_store::sums::{ModelSums, UsageSummary};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ModelUsageShape {
    input_tokens: u64,
    output_tokens: u64,
    cached_input_tokens: u64,
    cost_usd: NanoUsd,
    execution_count: u64,
}

/// What was used in a period.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageSummaryShape<'a> {
    total_input_tokens: u64,
    total_output_tokens: u64,
    total_cached_input_tokens: u64,
    total_cost_usd: NanoUsd,
    execution_count: u64,
    work_order_count: u64,
    total_duration_ms: u64,
    by_model: BTreeMap<&'a str, ModelUsageShape>,
    /// Models of which `costUsd` lacks something, because no price was known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unpriced_models: Vec<&'a str>,
    period_start: Timestamp,
    period_end: Timestamp,
}

impl<'a> UsageSummaryShape<'a> {
    /// The summary of a period that was asked for at `now`.
    pub fn of(summary: &'a UsageSummary, span: Span, now: Timestamp) -> UsageSummaryShape<'a> {
        let by_model = summary.by_model();
        let mut total = ModelSums::default();
        by_model.values().for_each(|sums| total.add(sums));
        let unpriced = by_model.iter().filter(|(_, sums)| sums.unpriced_runs > 0);
        UsageSummaryShape {
            total_input_tokens: total.input_tokens,
            total_output_tokens: total.output_tokens,
            total_cached_input_tokens: total.cached_input_tokens,
            total_cost_usd: NanoUsd::from_nano(total.cost_usd_nano),
            execution_count: summary.runs(),
            work_order_count: summary.work_orders,
            total_duration_ms: summary.days.values().map(|day| day.duration_ms).sum(),
            unpriced_models: unpriced.map(|(model, _)| *model).collect(),
            period_start: span.from.or(summary.first).unwrap_or(now),
            period_end: span.until.or(summary.last).unwrap_or(now),
            by_model: by_model
                .into_iter()
                .map(|(model, sums)| (model, shape(&sums)))
                .collect(),
        }
    }
}

fn shape(sums: &ModelSums) -> ModelUsageShape {
    ModelUsageShape {
        input_tokens: sums.input_tokens,
        output_tokens: sums.output_tokens,
        cached_input_tokens: sums.cached_input_tokens,
        cost_usd: NanoUsd::from_nano(sums.cost_usd_nano),
        execution_count: sums.runs,
    }
}
