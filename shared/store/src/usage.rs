//! Usage of runs that are over, written in the transaction that settles them: one record a run,
//! and sums by day and model, so that a summary of a year need not read every run of it.

use awo_domain::work_order::TenantContext;
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use serde::Serialize;

use crate::Store;
use crate::change::Change;
use crate::item::{Key, SCHEMA_VERSION};
use crate::runs::{PricedUsage, Run};
use crate::transaction::{Guard, Transaction};

/// What a run used in all.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UsageRecord<'a> {
    run_id: &'a RunId,
    work_order_id: &'a WorkOrderId,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_context: Option<&'a TenantContext>,
    usage: &'a [PricedUsage],
    duration_ms: i64,
    completed_at: Timestamp,
    v: u32,
}

impl Transaction {
    /// Records what a run used, and adds it to its day: once in all, and once for each model.
    pub(crate) fn record_usage(
        self,
        store: &Store,
        org: &OrgId,
        run: &Run,
        usage: &[PricedUsage],
        completed_at: Timestamp,
    ) -> Result<Transaction, Error> {
        let duration_ms = run.compute_ms(completed_at);
        let record = UsageRecord {
            run_id: &run.run_id,
            work_order_id: &run.work_order_id,
            tenant_context: run.tenant_context.as_ref(),
            usage,
            duration_ms,
            completed_at,
            v: SCHEMA_VERSION,
        };
        let work = &store.tables.work;
        let runs = Change::new()
            .add("runs", 1)
            .add("durationMs", duration_ms)
            .set("v", SCHEMA_VERSION);
        let mut transaction = self
            .put(
                Guard::Usage,
                work,
                &Key::usage(org, completed_at, &run.run_id),
                &record,
            )?
            .update(Guard::Usage, work, &Key::day(org, completed_at, None), runs)?;
        for one in usage {
            let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
            let sums = Change::new()
                .add("runs", 1)
                .add("inputTokens", count(one.usage.input_tokens))
                .add("outputTokens", count(one.usage.output_tokens))
                .add("cachedInputTokens", count(one.usage.cached_input_tokens))
                .add("costUsdNano", one.cost_usd_nano.unwrap_or(0))
                .add("unpricedRuns", i64::from(one.cost_usd_nano.is_none()))
                .set("v", SCHEMA_VERSION);
            let key = Key::day(org, completed_at, Some(&one.usage.model));
            transaction = transaction.update(Guard::Usage, work, &key, sums)?;
        }
        Ok(transaction)
    }
}
