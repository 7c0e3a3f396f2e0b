//! Budgets: one item for each budget and period counts what is spent and what is reserved, and every
//! transaction that makes or resolves a hold changes those that the run counts in. A hold is
//! conditional on what is committed being within the limit, so no number of rivals passes one.
//!
//! Which budgets there are stands in the organization's declaration. Its version stands on the
//! balance, too, which each of those transactions changes: it is conditional on the version that it
//! was made by, so a run is counted by its settlement where it was counted by its hold. A budget that is made
//! in mid-period begins with what was spent and is reserved at that moment.

mod alerts;
mod funding;
mod opening;
mod settings;

pub use alerts::Alert;
pub use funding::WantedHold;
pub use settings::NewBudget;

use std::collections::BTreeMap;

use awo_domain::budget::{Budget, OnLimit, Spender, Standing};
use awo_domain::cost::Attribution;
use awo_domain::money::MicroCredits;
use awo_domain::work_order::TenantContext;
use awo_domain::{Error, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::costs::policy::{CostPolicy, when_budgets};
use crate::engine::change::Change;
use crate::engine::item::Item;
use crate::engine::key::Key;
use crate::engine::transaction::{CommitOutcome, Refusal, Transaction};
use crate::engine::tries::Tries;
use crate::runs::Run;

/// The counters of a budget in a period.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CounterItem {
    /// Spent and reserved, in micro-credits.
    #[serde(default)]
    pub committed: i64,
    /// Of that, what is reserved.
    #[serde(default)]
    pub reserved: i64,
    /// The percentages that the organization was alerted of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alerted: Option<Vec<u8>>,
    /// Of what is committed, what the budget began with.
    #[serde(default)]
    pub seeded: i64,
}

impl CounterItem {
    pub fn standing(&self) -> Standing {
        Standing {
            spent: MicroCredits::from_micro(self.committed - self.reserved),
            reserved: MicroCredits::from_micro(self.reserved),
        }
    }
}

/// A budget with what counts against its limit in the present period.
#[derive(Debug, Clone)]
pub struct BudgetStanding {
    /// The budget.
    pub budget: Budget,
    /// What counts.
    pub standing: Standing,
}

/// Whose credits were reserved, and when.
#[derive(Debug, Clone)]
pub struct Reservation {
    /// The client's customer.
    pub tenant: Option<TenantContext>,
    /// The further dimensions of the run's cost.
    pub attribution: Option<Attribution>,
    /// When they were reserved.
    pub at: Timestamp,
}

impl Reservation {
    fn spender(&self) -> Spender<'_> {
        Spender {
            tenant: self.tenant.as_ref(),
            attribution: self.attribution.as_ref(),
        }
    }
}

impl Run {
    /// Its reservation: it was made with the run, unless the run waited for a budget.
    #[must_use]
    pub fn reservation(&self) -> Reservation {
        Reservation {
            tenant: self.tenant_context.clone(),
            attribution: self.attribution.clone(),
            at: self.held_at.unwrap_or(self.run_id.made_at()),
        }
    }
}

/// A change of what is spent and reserved, in micro-credits.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    pub of: Reservation,
    pub spent: i64,
    pub reserved: i64,
}

impl Move {
    /// A new hold; one that is resolved without a charge, if it is negative.
    pub fn reserves(of: Reservation, reserved: i64) -> Move {
        Move {
            of,
            spent: 0,
            reserved,
        }
    }
}

/// What a transaction changes of an organization's budgets, beside the balance.
#[derive(Debug, Clone)]
pub(crate) struct Funds {
    org: OrgId,
    moves: Vec<Move>,
    /// Which of the writes the change of the balance is.
    nth: usize,
    balance: Change,
}

/// A budget that a refused hold would have passed.
#[derive(Debug, Clone)]
pub(crate) struct OverBudget {
    pub budget: Budget,
    pub needed: MicroCredits,
}

impl OverBudget {
    /// For the caller, with what the counter has.
    pub fn error(&self, counter: Option<&Item>) -> Error {
        let number = |name: &str| counter?.get(name)?.as_n().ok()?.parse().ok();
        let committed: i64 = number("committed").unwrap_or(0);
        let standing = Standing {
            spent: MicroCredits::from_micro(committed),
            reserved: MicroCredits::ZERO,
        };
        Error::OverBudget {
            budget_id: self.budget.id.clone(),
            name: self.budget.content.name.clone(),
            needed: self.needed.to_decimal(),
            limit: MicroCredits::from_micro(self.budget.content.limit_micro).to_decimal(),
            remaining: self.budget.remaining(standing).to_decimal(),
        }
    }
}

/// True if nothing refused a hold but budgets whose runs wait.
pub(crate) fn only_waits(refusals: &[Refusal]) -> bool {
    let waits = |refusal: &Refusal| {
        let over = refusal.over.as_ref();
        over.is_some_and(|over| over.budget.content.on_limit == OnLimit::Wait)
    };
    !refusals.is_empty() && refusals.iter().all(waits)
}

/// The error of the budget that refused a hold: of one that blocks, if there is one.
pub(crate) fn over_budget(refusals: &[Refusal]) -> Option<Error> {
    let over = |refusal: &Refusal| Some((refusal.over.clone()?, refusal.item.clone()));
    let all: Vec<_> = refusals.iter().filter_map(over).collect();
    let blocks = |(over, _): &&(OverBudget, _)| over.budget.content.on_limit == OnLimit::Block;
    let first = all.iter().find(blocks).or(all.first());
    first.map(|(over, item)| over.error(item.as_ref()))
}

impl CostPolicy {
    /// What moves change, by budgets and periods.
    fn counted<'p>(&'p self, moves: &[Move]) -> Vec<(&'p Budget, Timestamp, i64, i64)> {
        let mut all = Vec::new();
        for budget in &self.budgets {
            let mut periods: BTreeMap<Timestamp, (i64, i64)> = BTreeMap::new();
            for one in moves {
                if let Some(start) = budget.counts(one.of.spender(), one.of.at) {
                    let (committed, reserved) = periods.entry(start).or_default();
                    *committed += one.spent + one.reserved;
                    *reserved += one.reserved;
                }
            }
            let changes = periods.into_iter().filter(|(_, of)| *of != (0, 0));
            all.extend(
                changes.map(|(start, (committed, reserved))| (budget, start, committed, reserved)),
            );
        }
        all
    }
}

impl Transaction {
    /// Changes the balance, and in the same transaction what budgets count.
    pub(crate) fn balance(mut self, org: &OrgId, balance: Change, moves: Vec<Move>) -> Transaction {
        self.funds = Some(Funds {
            org: org.clone(),
            moves,
            nth: self.len(),
            balance: balance.clone(),
        });
        self.update(&Key::balance(org), balance)
    }

    /// Commits by the budgets that there are.
    pub(crate) async fn commit_funds(
        self,
        store: &Store,
        funds: Funds,
    ) -> Result<CommitOutcome, Error> {
        let mut tries = Tries::new("the budgets kept changing");
        loop {
            tries.next().await?;
            let policy = store.known_cost_policy(&funds.org);
            let (transaction, over) = self.clone().counting(&funds, &policy)?;
            let mut committed = transaction.commit_events(store).await?;
            let CommitOutcome::No(refusals) = &mut committed else {
                return Ok(committed);
            };
            let balance = refusals.iter().find(|refusal| refusal.nth == funds.nth);
            let found = balance.map(|refusal| when_budgets::of(refusal.item.as_ref()));
            if found.is_some_and(|version| version != policy.budgets_version) {
                store.cost_policy(&funds.org).await?;
                continue;
            }
            for refusal in refusals.iter_mut() {
                refusal.over = over.get(&refusal.nth).cloned();
            }
            return Ok(committed);
        }
    }

    /// With what these budgets count. A hold is within what is left, where its budget does not only
    /// alert.
    fn counting(
        mut self,
        funds: &Funds,
        policy: &CostPolicy,
    ) -> Result<(Transaction, BTreeMap<usize, OverBudget>), Error> {
        let balance = when_budgets::is(funds.balance.clone(), policy.budgets_version);
        self.replace(funds.nth, &balance);
        let mut over = BTreeMap::new();
        for (budget, start, committed, reserved) in policy.counted(&funds.moves) {
            let left = budget.content.limit_micro - committed;
            let change = Change::new()
                .add("committed", committed)
                .add("reserved", reserved);
            let is_limited = committed > 0 && budget.content.on_limit != OnLimit::Alert;
            let change = match is_limited {
                false => change,
                true if left >= 0 => change.at_most_or_missing("committed", left),
                // More than the whole limit: no counter is below zero.
                true => change.compare("committed", "<=", left),
            };
            if is_limited {
                let needed = MicroCredits::from_micro(committed);
                let budget = budget.clone();
                over.insert(self.len(), OverBudget { budget, needed });
            }
            let key = Key::budget_counter(&funds.org, budget, start);
            self = self.update(&key, change);
        }
        Ok((self, over))
    }
}
