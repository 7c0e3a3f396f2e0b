//! Runs that wait for a budget: their entries have what is to be reserved for them, and nothing is
//! until their budgets and the balance cover it. They get their holds in fair order; one that still
//! does not fit keeps no other waiting.

use awo_domain::budget::OnLimit;
use awo_domain::cost::Attribution;
use awo_domain::money::MicroCredits;
use awo_domain::queue::fair_order;
use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Move, Reservation};
use crate::Store;
use crate::engine::change::Change;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::runs::lifecycle::dispatch::{EntryItem, QueueState};

/// What is to be reserved for a run that waits for a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WantedHold {
    /// How much, in micro-credits.
    pub amount_micro: i64,
    /// The dimensions of the run's cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
}

impl EntryItem {
    fn wanted_move(&self, wanted: &WantedHold, now: Timestamp) -> Move {
        let of = Reservation {
            tenant: self.tenant_context.clone(),
            attribution: wanted.attribution.clone(),
            at: now,
        };
        Move::reserves(of, wanted.amount_micro)
    }
}

impl Store {
    /// The entries that wait for a budget and whose holds fit now, in fair order: a hint, since
    /// rivals may be faster.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn fundable(
        &self,
        org: &OrgId,
        queue: &QueueState,
        now: Timestamp,
    ) -> Result<Vec<WorkOrderId>, Error> {
        let waits: Vec<&EntryItem> = queue
            .entries
            .iter()
            .filter(|e| e.wanted.is_some())
            .collect();
        if waits.is_empty() {
            return Ok(Vec::new());
        }
        let policy = self.cost_policy(org).await?;
        let (balance, counters) =
            tokio::try_join!(self.balance(org), self.counters(org, &policy.budgets, now))?;
        let ids = policy.budgets.iter().map(|budget| budget.id.clone());
        let mut committed: BTreeMap<_, i64> =
            ids.zip(counters.iter().map(|of| of.committed)).collect();
        let (mut available, mut fit) = (balance.available, Vec::new());
        let waiting: Vec<_> = waits.iter().map(|entry| entry.waiting()).collect();
        for next in fair_order(&waiting, queue.tally.last_served.as_deref()) {
            let entry = waits
                .iter()
                .find(|entry| entry.work_order_id == next.work_order_id);
            let Some((entry, wanted)) =
                entry.and_then(|entry| Some((entry, entry.wanted.as_ref()?)))
            else {
                continue;
            };
            let counted = policy.counted(&[entry.wanted_move(wanted, now)]);
            let is_within = counted.iter().all(|(budget, _, more, _)| {
                let is_limited = budget.content.on_limit != OnLimit::Alert;
                let there = committed.get(&budget.id).copied().unwrap_or(0);
                !is_limited || there + more <= budget.content.limit_micro
            });
            if is_within && wanted.amount_micro <= available {
                available -= wanted.amount_micro;
                for (budget, _, more, _) in counted {
                    *committed.entry(budget.id.clone()).or_default() += more;
                }
                fit.push(entry.work_order_id.clone());
            }
        }
        Ok(fit)
    }

    /// Reserves what an entry waits for, in one transaction with the budgets' counters. False if they
    /// or the balance do not cover it, or the entry has changed.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn fund(
        &self,
        org: &OrgId,
        entry: &EntryItem,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let Some(wanted) = &entry.wanted else {
            return Ok(false);
        };
        let amount = MicroCredits::from_micro(wanted.amount_micro);
        let of_entry = Change::new()
            .remove("wanted")
            .when("runId", &entry.run_id)
            .when_present("wanted");
        let of_run = Change::new()
            .set("holdMicro", amount.micro())
            .set("heldAt", now)
            .remove("waitsForBudget")
            .when("holdMicro", 0)
            .when_present("waitsForBudget");
        let balance = Change::new().reserve(amount.micro(), now);
        let entry_key = Key::entry(org, &entry.work_order_id);
        let committed = Transaction::new()
            .update(&entry_key, of_entry)
            .update(&Key::run(org, &entry.run_id), of_run)
            .balance(org, balance, vec![entry.wanted_move(wanted, now)])
            .record_hold(org, &entry.run_id, amount, now)?
            .commit(self)
            .await?;
        Ok(committed.is_yes())
    }
}
