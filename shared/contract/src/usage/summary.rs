//! The usage summary as the API shows it.

use std::collections::BTreeMap;

use awo_domain::Timestamp;
use awo_domain::money::NanoUsd;
use awo_domain::span::Span;
use awo_store::costs::sums::{ModelSums, UsageSummary};
use serde::Serialize;
use utoipa::ToSchema;

/// The usage of one model.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UsageSummaryModel)]
struct ModelUsageShape {
    /// All input tokens, cached ones included.
    input_tokens: u64,
    /// Output tokens.
    output_tokens: u64,
    /// Input tokens that the provider read from its cache.
    cached_input_tokens: u64,
    /// Their cost, as far as prices are known.
    cost_usd: NanoUsd,
    /// Runs that used the model.
    execution_count: u64,
}

/// The usage of a period.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageSummaryShape<'a> {
    /// Input tokens of all models, cached ones included.
    total_input_tokens: u64,
    /// Output tokens of all models.
    total_output_tokens: u64,
    /// Input tokens that providers read from their caches.
    total_cached_input_tokens: u64,
    /// The cost of the models, as far as prices are known.
    total_cost_usd: NanoUsd,
    /// Runs that ended in the period.
    execution_count: u64,
    /// Work orders whose runs they are.
    work_order_count: u64,
    /// Their time from slot to end, in milliseconds.
    total_duration_ms: u64,
    /// The same by model.
    by_model: BTreeMap<&'a str, ModelUsageShape>,
    /// Models of which `costUsd` lacks something, because no price was known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unpriced_models: Vec<&'a str>,
    /// `startDate`; without it the end of the first run that counts, or the time of the request.
    period_start: Timestamp,
    /// `endDate`; without it the end of the last run that counts, or the time of the request.
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
