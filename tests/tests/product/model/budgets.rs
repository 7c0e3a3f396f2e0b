//! Budgets in the model. What runs spend stays below half of a hold in any sequence, and limits are
//! whole holds and a half: a hold fits as long as fewer holds are open than the limit has.

use awo_domain::budget::OnLimit;
use awo_domain::queue::{WaitingEntry, fair_order};
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Timestamp, WorkOrderId};

use super::reference::{Model, OrderModel, tenant_name};

/// Most budgets at a time.
pub const MAX_BUDGETS: usize = 3;
/// What a run reserves, in credits.
pub const HOLD: i64 = 10;

#[derive(Debug, Clone)]
pub struct BudgetModel {
    /// The tenant, or 0 for everybody.
    pub scope: u8,
    pub on_limit: OnLimit,
    /// How many holds it covers.
    pub holds: u8,
    pub is_there: bool,
}

/// What budgets make of a new hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cover {
    Held,
    Waits,
    Refused,
}

impl BudgetModel {
    fn counts(&self, tenant: u8) -> bool {
        self.is_there && (self.scope == 0 || self.scope == tenant)
    }

    /// The limit, in credits.
    pub fn limit(&self) -> i64 {
        i64::from(self.holds) * HOLD + HOLD / 2
    }
}

impl OrderModel {
    fn open_holds(&self) -> usize {
        let open = self.runs.iter().filter(|run| run.held && !run.settled);
        open.count()
    }
}

impl Model {
    /// Those that there are, by their numbers.
    pub fn budgets_there(&self) -> Vec<usize> {
        let all = self.budgets.iter().enumerate();
        let there = all.filter(|(_, budget)| budget.is_there);
        there.map(|(nth, _)| nth).collect()
    }

    pub fn create_budget(&mut self, scope: u8, on_limit: OnLimit, holds: u8) {
        self.budgets.push(BudgetModel {
            scope,
            on_limit,
            holds,
            is_there: true,
        });
    }

    pub fn raise_budget(&mut self, nth: usize) {
        let budget = &mut self.budgets[nth];
        if budget.is_there {
            budget.holds += 1;
        }
    }

    pub fn delete_budget(&mut self, nth: usize) {
        self.budgets[nth].is_there = false;
    }

    /// Whether another hold of a tenant fits.
    pub fn cover(&self, tenant: u8) -> Cover {
        let is_over = |budget: &&BudgetModel| {
            let counted = self.orders.iter().filter(|of| budget.counts(of.tenant));
            let open: usize = counted.map(OrderModel::open_holds).sum();
            budget.counts(tenant) && open >= usize::from(budget.holds)
        };
        let limited = self
            .budgets
            .iter()
            .filter(|of| of.on_limit != OnLimit::Alert);
        let over: Vec<&BudgetModel> = limited.filter(is_over).collect();
        match over.iter().any(|of| of.on_limit == OnLimit::Block) {
            true => Cover::Refused,
            false if over.is_empty() => Cover::Held,
            false => Cover::Waits,
        }
    }

    /// True if an order waits for a budget: its run has no hold.
    pub fn waits_for_budget(&self, order: usize) -> bool {
        let order = &self.orders[order];
        order.status == WorkOrderStatus::Queued && !order.run().held
    }

    /// Runs that wait for a budget get their holds in fair order; one that does not fit keeps no other
    /// waiting.
    pub fn fund(&mut self) {
        let waits: Vec<usize> = self.queue.clone();
        let waits: Vec<usize> = waits
            .into_iter()
            .filter(|i| self.waits_for_budget(*i))
            .collect();
        let entry = |i: &usize| WaitingEntry {
            waits_for_budget: true,
            work_order_id: WorkOrderId::new(Timestamp::from_epoch_ms(1), *i as u128),
            tenant: tenant_name(self.orders[*i].tenant).unwrap_or_default(),
            enqueued_at: Timestamp::from_epoch_ms(self.orders[*i].enqueued),
        };
        let entries: Vec<WaitingEntry> = waits.iter().map(entry).collect();
        let last = self.last_served.map(|t| tenant_name(t).unwrap_or_default());
        let order = fair_order(&entries, last.as_deref()).into_iter();
        let order = order.filter_map(|next| entries.iter().position(|of| of == next));
        for nth in order.collect::<Vec<_>>() {
            let i = waits[nth];
            if self.cover(self.orders[i].tenant) == Cover::Held {
                self.orders[i].run_mut().held = true;
            }
        }
    }
}
