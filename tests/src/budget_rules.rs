//! The rules of budgets: what a budget counts in a period is what it began with, what settled runs of
//! that period cost, less what was given back, and what its open holds reserve. No budget that limits
//! is passed.

use std::collections::{BTreeMap, BTreeSet};

use awo_domain::budget::{Budget, OnLimit, Spender};
use awo_domain::cost::record::CostRecord;
use awo_domain::{RunId, Timestamp};
use awo_store::runs::verifications::Verification;
use serde_json::Value;

use crate::rules::{Dump, number, text};

/// What a budget counts in a period, in micro-credits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct BudgetCount {
    spent: i64,
    reserved: i64,
}

impl Dump {
    /// Budgets that were there before any run: they began with nothing.
    pub(crate) fn check_budgets(&self, broken: &mut Vec<String>) {
        let policy = self.one("#costs", "policy");
        let Some(budgets) = policy.map(|policy| policy["budgets"].clone()) else {
            return;
        };
        let budgets: Vec<Budget> = serde_json::from_value(budgets).unwrap_or_default();
        let records = ["#cost", "#costnew"].map(|partition| self.partition(partition));
        let records = records.into_iter().flatten();
        let records: Vec<CostRecord> = records
            .map(|item| serde_json::from_value(item.clone()).expect("a record of costs"))
            .collect();
        for budget in &budgets {
            let mut wanted: BTreeMap<String, BudgetCount> = BTreeMap::new();
            let name = |start: Timestamp| format!("{}#{:04}#{start}", budget.id, budget.epoch);
            for record in &records {
                let of = Spender {
                    tenant: record.tenant_context.as_ref(),
                    attribution: record.attribution.as_ref(),
                };
                if let Some(start) = budget.counts(of, self.record_reserved_at(record)) {
                    let total = record.total();
                    let counted = wanted.entry(name(start)).or_default();
                    counted.spent += total.credits_micro - total.refunds_micro;
                }
            }
            for (start, reserved) in self.open_holds(budget) {
                wanted.entry(name(start)).or_default().reserved += reserved;
            }
            self.compare(budget, wanted, broken);
        }
    }

    /// Time at which the credits of a record's run or verification were reserved.
    fn record_reserved_at(&self, record: &CostRecord) -> Timestamp {
        match record.verification_id {
            Some(_) => record.made_at(),
            None => self.reserved_at(&record.run_id),
        }
    }

    /// When a run's credits were reserved.
    fn reserved_at(&self, run: &RunId) -> Timestamp {
        let held_at = self
            .one("#run", run.as_str())
            .map(|run| text(run, "heldAt"));
        let held_at = held_at.and_then(|at| Timestamp::parse(&at).ok());
        held_at.unwrap_or(run.made_at())
    }

    /// Of runs that are not settled, by the periods in which they count.
    fn open_holds(&self, budget: &Budget) -> Vec<(Timestamp, i64)> {
        let settled: BTreeSet<String> = self
            .partition("#settled")
            .iter()
            .map(|s| text(s, "sk"))
            .collect();
        let open = self.runs().into_iter();
        let open = open.filter(|run| !settled.contains(&text(run, "runId")));
        let counted = open.filter_map(|run| {
            let tenant = serde_json::from_value(run["tenantContext"].clone()).ok();
            let attribution = serde_json::from_value(run["attribution"].clone()).ok();
            let of = Spender {
                tenant: tenant.as_ref(),
                attribution: attribution.as_ref(),
            };
            let id = RunId::parse(&text(run, "runId")).expect("a run's id");
            let start = budget.counts(of, self.reserved_at(&id))?;
            Some((start, number(run, "holdMicro")))
        });
        counted.chain(self.open_verifications(budget)).collect()
    }

    /// Of manual verifications under way.
    fn open_verifications(&self, budget: &Budget) -> Vec<(Timestamp, i64)> {
        let under_way = self.partition("#verification").into_iter();
        let counted = under_way.filter_map(|item| {
            let item: Verification = serde_json::from_value(item.clone()).expect("a verification");
            let reservation = item.reservation();
            let spender = Spender {
                tenant: reservation.tenant.as_ref(),
                attribution: reservation.attribution.as_ref(),
            };
            Some((budget.counts(spender, reservation.at)?, item.hold_micro))
        });
        counted.collect()
    }

    fn compare(
        &self,
        budget: &Budget,
        mut wanted: BTreeMap<String, BudgetCount>,
        broken: &mut Vec<String>,
    ) {
        let limit = budget.content.limit_micro;
        let is_limited = budget.content.on_limit != OnLimit::Alert;
        let epoch = format!("{}#{:04}#", budget.id, budget.epoch);
        let counters = self.partition("#budget").into_iter();
        for counter in counters.filter(|of| text(of, "sk").starts_with(&epoch)) {
            let name = text(counter, "sk");
            let counted = BudgetCount {
                spent: number(counter, "committed") - number(counter, "reserved"),
                reserved: number(counter, "reserved"),
            };
            let of_runs = wanted.remove(&name).unwrap_or_default();
            if counted != of_runs && number(counter, "seeded") == 0 {
                broken.push(format!("budget {name} counts {counted:?}, not {of_runs:?}"));
            }
            // One that began above its limit covers nothing more.
            if is_limited && number(counter, "committed") > limit.max(number(counter, "seeded")) {
                broken.push(format!("budget {name} is passed: {counter}, limit {limit}"));
            }
        }
        for (name, of_runs) in wanted
            .into_iter()
            .filter(|(_, of)| *of != BudgetCount::default())
        {
            broken.push(format!("budget {name} counts nothing, not {of_runs:?}"));
        }
    }
}

/// True if a run waits for a budget: then it has no hold.
pub(crate) fn waits_for_budget(run: &Value) -> bool {
    run["waitsForBudget"] == true
}
