//! Sums of usage over a period, pure. Every run of the period is added once: by its record, or in
//! the sums of its day.

use std::collections::BTreeMap;

use awo_domain::Timestamp;
use awo_domain::span::Span;
use serde::Deserialize;

use crate::usage::{Again, UsageRecord};

/// The usage of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelSums {
    /// Runs that used it.
    pub runs: u64,
    /// All input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens that came from a cache.
    pub cached_input_tokens: u64,
    /// Billionths of a dollar, of the runs whose price is known.
    pub cost_usd_nano: i64,
    /// Runs whose price is not known.
    pub unpriced_runs: u64,
}

impl ModelSums {
    /// Adds the sums of other runs.
    pub fn add(&mut self, more: &ModelSums) {
        self.runs += more.runs;
        self.input_tokens += more.input_tokens;
        self.output_tokens += more.output_tokens;
        self.cached_input_tokens += more.cached_input_tokens;
        self.cost_usd_nano = self.cost_usd_nano.saturating_add(more.cost_usd_nano);
        self.unpriced_runs += more.unpriced_runs;
    }
}

/// The usage of a day.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DaySums {
    /// Runs.
    pub runs: u64,
    /// Their time on compute, in milliseconds.
    pub duration_ms: u64,
    /// By model.
    pub models: BTreeMap<String, ModelSums>,
}

/// The usage of a period.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageSummary {
    /// By UTC day, such as `2026-11-20`; days without a run are left out.
    pub days: BTreeMap<String, DaySums>,
    /// Unique work orders.
    pub work_orders: u64,
    /// The first completion, where the period has no start.
    pub first: Option<Timestamp>,
    /// The last completion, where the period has no end.
    pub last: Option<Timestamp>,
}

impl UsageSummary {
    /// Runs.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.days.values().map(|day| day.runs).sum()
    }

    /// All days, by model.
    #[must_use]
    pub fn by_model(&self) -> BTreeMap<&str, ModelSums> {
        let mut all: BTreeMap<&str, ModelSums> = BTreeMap::new();
        for (model, sums) in self.days.values().flat_map(|day| &day.models) {
            all.entry(model).or_default().add(sums);
        }
        all
    }
}

/// A day's sums as they are stored: of all runs, or of one model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DayItem {
    pub sk: String,
    pub runs: u64,
    pub duration_ms: u64,
    pub again: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_input_tokens: u64,
    pub cost_usd_nano: i64,
    pub unpriced_runs: u64,
}

/// A summary as it is added up.
pub(crate) struct Sums<'a> {
    span: Span,
    model: Option<&'a str>,
    days: BTreeMap<String, DaySums>,
    /// Runs whose work order has an earlier one in the period.
    again: u64,
}

impl<'a> Sums<'a> {
    pub fn new(span: Span, model: Option<&'a str>) -> Sums<'a> {
        Sums {
            span,
            model,
            days: BTreeMap::new(),
            again: 0,
        }
    }

    /// Adds a run, if it is of the period and used the model; false if it is not or did not.
    pub fn add_record(&mut self, record: &UsageRecord) -> bool {
        let wanted = |model: &str| self.model.is_none_or(|only| only == model);
        let uses = record.usage.iter().any(|one| wanted(&one.usage.model));
        if !self.span.contains(record.completed_at) || (self.model.is_some() && !uses) {
            return false;
        }
        let day = self.days.entry(record.completed_at.day()).or_default();
        day.runs += 1;
        day.duration_ms += u64::try_from(record.duration_ms).unwrap_or(0);
        for one in record.usage.iter().filter(|one| wanted(&one.usage.model)) {
            let sums = day.models.entry(one.usage.model.clone()).or_default();
            sums.add(&ModelSums {
                runs: 1,
                input_tokens: one.usage.input_tokens,
                output_tokens: one.usage.output_tokens,
                cached_input_tokens: one.usage.cached_input_tokens,
                cost_usd_nano: one.cost_usd_nano.unwrap_or(0),
                unpriced_runs: u64::from(one.cost_usd_nano.is_none()),
            });
        }
        self.count_again(record.earlier(self.model));
        true
    }

    /// Adds the sums of a day that is of the period as a whole.
    pub fn add_day(&mut self, item: &DayItem) {
        let (day, model) = match item.sk.split_once('#') {
            Some((day, model)) => (day, Some(model)),
            None => (item.sk.as_str(), None),
        };
        if self.model.is_some() && self.model != model {
            return;
        }
        let sums = self.days.entry(day.to_owned()).or_default();
        if self.model == model {
            sums.runs += item.runs;
            sums.duration_ms += item.duration_ms;
            self.again += item.again;
        }
        if let Some(model) = model {
            sums.models
                .entry(model.to_owned())
                .or_default()
                .add(&ModelSums {
                    runs: item.runs,
                    input_tokens: item.input_tokens,
                    output_tokens: item.output_tokens,
                    cached_input_tokens: item.cached_input_tokens,
                    cost_usd_nano: item.cost_usd_nano,
                    unpriced_runs: item.unpriced_runs,
                });
        }
    }

    /// Adds a run of such a day that had earlier ones on other days.
    pub fn add_again(&mut self, again: &Again) {
        let at = match self.model {
            Some(model) => again.models.get(model).copied(),
            None => again.at,
        };
        self.count_again(at);
    }

    fn count_again(&mut self, earlier: Option<Timestamp>) {
        self.again += u64::from(earlier.is_some_and(|at| self.span.contains(at)));
    }

    pub fn summary(self) -> UsageSummary {
        let mut summary = UsageSummary {
            days: self.days,
            ..UsageSummary::default()
        };
        summary.work_orders = summary.runs().saturating_sub(self.again);
        summary
    }
}
