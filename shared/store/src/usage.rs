//! Usage of finished runs, written in the transaction that settles them: one record per run, and
//! sums by day and model, so that a summary of a year need not read every run of it.
//!
//! The number of work orders in a period is its runs less those with an earlier run of the same
//! work order in that period, so a run records when its work order's earlier runs were completed.
//! If that was on the same day, the day's sums count it (`again`); a repeated run of a later day is
//! in a sparse partition, since a period may begin in between.

pub mod summary;

use std::collections::BTreeMap;

use awo_domain::usage::PricedUsage;
use awo_domain::work_order::TenantContext;
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use serde::{Deserialize, Serialize};

use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::runs::Run;

/// Most models whose last use by a work order is remembered; those used longest ago are forgotten.
const MAX_EARLIER_MODELS: usize = 200;

/// When runs of the same work order before this one were completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// The last of them.
    pub at: Timestamp,
    /// The last of them that used a model, by model.
    pub models: BTreeMap<String, Timestamp>,
}

impl Earlier {
    /// What a run after `last` has before it.
    pub(crate) fn than_the_run_after(last: &Run) -> Option<Earlier> {
        let had_slot = last.started_at.and(last.completed_at);
        let Some(at) = had_slot else {
            return last.earlier.clone();
        };
        let mut models = last
            .earlier
            .clone()
            .map_or_else(BTreeMap::new, |e| e.models);
        models.extend(last.usage.iter().map(|one| (one.usage.model.clone(), at)));
        while models.len() > MAX_EARLIER_MODELS {
            let oldest = models.iter().min_by_key(|(_, at)| **at);
            let Some(oldest) = oldest.map(|(model, _)| model.clone()) else {
                break;
            };
            models.remove(&oldest);
        }
        Some(Earlier { at, models })
    }

    /// The last of them, or the last that used a model.
    pub(crate) fn with(&self, model: Option<&str>) -> Option<Timestamp> {
        model.map_or(Some(self.at), |model| self.models.get(model).copied())
    }
}

/// The total usage of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageRecord {
    pub run_id: RunId,
    pub work_order_id: WorkOrderId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_context: Option<TenantContext>,
    pub usage: Vec<PricedUsage>,
    pub duration_ms: i64,
    pub completed_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
    pub v: u32,
}

/// A run whose work order's earlier runs were on other days.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Again {
    /// The last of them, unless it was on the same day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The same for each model that both used.
    pub models: BTreeMap<String, Timestamp>,
    pub v: u32,
}

impl UsageRecord {
    pub fn of(run: &Run, usage: &[PricedUsage], completed_at: Timestamp) -> UsageRecord {
        UsageRecord {
            run_id: run.run_id.clone(),
            work_order_id: run.work_order_id.clone(),
            tenant_context: run.tenant_context.clone(),
            usage: usage.to_vec(),
            duration_ms: run.compute_ms(completed_at),
            completed_at,
            earlier: run.earlier.clone(),
            v: SCHEMA_VERSION,
        }
    }

    /// When the earlier run of the same work order was completed, or the one that used a model.
    pub fn earlier(&self, model: Option<&str>) -> Option<Timestamp> {
        self.earlier
            .as_ref()
            .and_then(|earlier| earlier.with(model))
    }

    fn on_its_day(&self, at: Timestamp) -> bool {
        at.start_of_day() == self.completed_at.start_of_day()
    }

    /// 1 if the earlier run was on the same day.
    pub fn again_on_its_day(&self, model: Option<&str>) -> i64 {
        i64::from(self.earlier(model).is_some_and(|at| self.on_its_day(at)))
    }

    /// What is to be stored where an earlier run was on another day.
    pub fn again_on_another_day(&self) -> Option<Again> {
        let on_another = |model| self.earlier(model).filter(|at| !self.on_its_day(*at));
        let models = self.usage.iter().map(|one| &one.usage.model);
        let again = Again {
            at: on_another(None),
            models: models
                .filter_map(|model| Some((model.clone(), on_another(Some(model))?)))
                .collect(),
            v: SCHEMA_VERSION,
        };
        (again.at.is_some() || !again.models.is_empty()).then_some(again)
    }

    /// What its day's sums get of it.
    fn sums(&self, model: Option<&str>) -> Change {
        Change::new()
            .add("runs", 1)
            .add("durationMs", self.duration_ms)
            .add("again", self.again_on_its_day(model))
            .set("v", SCHEMA_VERSION)
    }
}

impl Transaction {
    /// Records what a run used, and adds it to its day: once in all, and once for each model.
    pub(crate) fn record_usage(
        self,
        org: &OrgId,
        run: &Run,
        usage: &[PricedUsage],
        completed_at: Timestamp,
    ) -> Result<Transaction, Error> {
        let record = UsageRecord::of(run, usage, completed_at);
        self.add_usage(org, &record)
    }

    pub(crate) fn add_usage(self, org: &OrgId, record: &UsageRecord) -> Result<Transaction, Error> {
        let at = record.completed_at;
        let mut transaction = self
            .put(&Key::usage(org, at, &record.run_id), record)?
            .update(&Key::day(org, at, None), record.sums(None));
        if let Some(again) = record.again_on_another_day() {
            let key = Key::again(org, at, &record.run_id);
            transaction = transaction.put(&key, &again)?;
        }
        for one in &record.usage {
            let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
            let model = Some(one.usage.model.as_str());
            let sums = record
                .sums(model)
                .add("inputTokens", count(one.usage.input_tokens))
                .add("outputTokens", count(one.usage.output_tokens))
                .add("cachedInputTokens", count(one.usage.cached_input_tokens))
                .add("costUsdNano", one.cost_usd_nano.unwrap_or(0))
                .add("unpricedRuns", i64::from(one.cost_usd_nano.is_none()));
            transaction = transaction.update(&Key::day(org, at, model), sums);
        }
        Ok(transaction)
    }
}
