//! Cost records of settlements and refunds that predate them, from the ledger and the runs, so that
//! reports of that time agree with the ledger, too.

use std::collections::{BTreeMap, BTreeSet};

use awo_domain::cost::measures::{Measures, apportion};
use awo_domain::cost::record::{COMPUTE, ChargeInputs, CostRecord, NONE, Part};
use awo_domain::ledger::{CostParts, Rates, TransactionType};
use awo_domain::money::MicroCredits;
use awo_domain::run::RunStatus;
use awo_domain::usage::PricedUsage;
use awo_domain::work_order::TenantContext;
use awo_domain::{Error, OrgId, RunId, TransactionId};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::key::{Key, ledger_entries};
use crate::engine::list::Slice;
use crate::engine::transaction::Transaction;
use crate::ledger::credits::LedgerEntry;
use crate::runs::Run;

/// Entries of a reading.
const MAX_READ: u32 = 1_000;

impl Store {
    /// Writes a record of each deduction and refund that has none, and returns how many that are.
    /// `rates` are assumed of deductions that do not name what they are for. Doing it again, or
    /// twice at once, records nothing twice.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn backfill_costs(&self, org: &OrgId, rates: Rates) -> Result<u64, Error> {
        let (mut written, mut charges) = (0, BTreeMap::new());
        let refunded = self.refunded_runs(org).await?;
        let slice = Slice::of_partition(ledger_entries(org)).limit(MAX_READ);
        let mut after = None;
        loop {
            let page = self
                .slice::<LedgerEntry>(slice.clone().after(after))
                .await?;
            for entry in &page.items {
                let Some(run) = &entry.run_id else {
                    continue;
                };
                if entry.kind == TransactionType::Deduction && refunded.contains(run) {
                    charges.insert(run.clone(), entry.id.clone());
                }
                // Boxed: the calls below are deep, and the compiler lays out futures whole.
                let written_now = Box::pin(self.backfill(org, entry, (run, &charges), rates));
                written += u64::from(written_now.await?);
            }
            let last = page.items.last().filter(|_| page.has_more);
            match last {
                Some(last) => after = Some(Key::ledger_entry(org, &last.id).to_item()),
                None => return Ok(written),
            }
        }
    }

    /// Runs that were refunded.
    async fn refunded_runs(&self, org: &OrgId) -> Result<BTreeSet<RunId>, Error> {
        let refund = Some(TransactionType::Refund.as_str().to_owned());
        let refunds = Slice::of_partition(ledger_entries(org));
        let mut runs = BTreeSet::new();
        let add = |entry: LedgerEntry| runs.extend(entry.run_id);
        self.each(&refunds.filter("type", refund), add).await?;
        Ok(runs)
    }

    /// False if the entry has its record.
    async fn backfill(
        &self,
        org: &OrgId,
        entry: &LedgerEntry,
        (run_id, charges): (&RunId, &BTreeMap<RunId, TransactionId>),
        rates: Rates,
    ) -> Result<bool, Error> {
        if self.cost_record(org, &entry.id).await?.is_some() {
            return Ok(false);
        }
        let amount = MicroCredits::from_micro(entry.amount_micro);
        let record = match (entry.kind, charges.get(run_id)) {
            (TransactionType::Refund, Some(charge)) => {
                let of = self.cost_record(org, charge).await?;
                CostRecord::refund(&entry.id, (run_id, amount), of.as_ref())
            }
            (TransactionType::Refund, None) => {
                CostRecord::refund(&entry.id, (run_id, amount), None)
            }
            _ => self.charged_before(org, entry, run_id, rates).await?,
        };
        // It is in no sums, either; deleting what is not there is a condition and no more.
        let old = Key::cost(org, &entry.id);
        let absent = Change::new().when_missing("pk");
        let committed = Transaction::new()
            .put_cost(org, &record)?
            .delete(&old, absent)
            .commit(self)
            .await?;
        Ok(committed.is_yes())
    }

    async fn charged_before(
        &self,
        org: &OrgId,
        entry: &LedgerEntry,
        run_id: &RunId,
        rates: Rates,
    ) -> Result<CostRecord, Error> {
        let run = self.run(org, run_id).await?;
        let order = match &run {
            Some(run) => self.work_order(org, &run.work_order_id).await?,
            None => None,
        };
        let own = run.as_ref().and_then(|run| run.attribution.clone());
        let tenant = entry.tenant_id.clone().map(|tenant_id| TenantContext {
            tenant_id,
            tenant_user_id: entry.tenant_user_id.clone(),
        });
        let of_run = run.as_ref().map(|run| run.work_order_id.clone());
        Ok(CostRecord {
            verification_id: None,
            id: entry.id.clone(),
            at: entry.created_at,
            run_id: run_id.clone(),
            work_order_id: entry.work_order_id.clone().or(of_run),
            outcome: run.as_ref().map(|run| run.status),
            tenant_context: tenant,
            attribution: own.or_else(|| order.map(|order| order.attribution())),
            is_refund: false,
            price_list: entry.price_list.clone(),
            parts: parts(entry, run.as_ref(), rates),
        })
    }
}

/// The purpose of a deduction.
fn parts(entry: &LedgerEntry, run: Option<&Run>, rates: Rates) -> Vec<Part> {
    let deduction = MicroCredits::from_micro(entry.amount_micro);
    let usage = run.map_or(&[][..], |run| &run.usage);
    let usd = PricedUsage::total(usage);
    let compute_ms = run.map_or(0, |run| run.compute_ms(entry.created_at));
    let cost = (entry.parts.known()).unwrap_or_else(|| {
        let assumed = rates.parts(usd, compute_ms);
        let model = assumed.model.min(deduction);
        CostParts {
            model,
            compute: assumed.compute.max(deduction.minus(model)),
        }
    });
    if cost.model > MicroCredits::ZERO && usd.nano() == 0 {
        // The run was purged: which models it used is not known.
        let costs = [cost.model.micro(), cost.compute.micro()];
        let capped = apportion(cost.total().minus(deduction).micro(), &costs);
        let part = |model: &str, measures| Part {
            model: model.to_owned(),
            measures,
        };
        let model = Measures {
            model_micro: costs[0],
            capped_micro: capped[0],
            credits_micro: costs[0] - capped[0],
            ..Measures::default()
        };
        let compute = Measures {
            compute_micro: costs[1],
            capped_micro: capped[1],
            credits_micro: costs[1] - capped[1],
            ..Measures::default()
        };
        return vec![part(NONE, model), part(COMPUTE, compute)];
    }
    let charged = ChargeInputs {
        usage,
        compute_ms,
        cost,
        is_free: false,
        deduction,
    };
    charged.parts(Some(run.map_or(RunStatus::Failed, |run| run.status)))
}
