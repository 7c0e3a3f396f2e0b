//! The settlement of holds, and the return of slots. A settlement that is written once cannot be
//! written again, so duplicates charge nothing twice.
//!
//! A run that ended by itself is settled in the transaction that ends it. A run that a client
//! stopped is settled when its compute is known to be gone, in the transaction that returns its
//! slot: until then its runner may still report its usage, once.

use awo_domain::ledger::{CostParts, Settlement, TransactionType, settle};
use awo_domain::money::MicroCredits;
use awo_domain::run::RunStatus;
use awo_domain::usage::PricedUsage;
use awo_domain::{Error, OrgId, Timestamp, TransactionId};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::ledger::budgets::Move;
use crate::ledger::credits::{Booking, LedgerEntry, SettlementItem};
use crate::ledger::statements::earlier_month;
use crate::runs::lifecycle::lease::Lease;
use crate::runs::{Cost, Run};

/// A run whose hold is resolved.
pub(crate) struct Settling<'a> {
    pub run: &'a Run,
    /// How it ended.
    pub outcome: RunStatus,
    /// Its total usage.
    pub usage: &'a [PricedUsage],
    pub completed_at: Timestamp,
    pub charge: &'a Charge,
    pub settled: Settlement,
}

/// The charge of a run.
#[derive(Debug, Clone)]
pub struct Charge {
    /// Before the hold limits it.
    pub cost: CostParts,
    /// The compute of that, in milliseconds.
    pub compute_ms: i64,
    /// True if nothing of it is charged.
    pub is_free: bool,
    /// The ledger entry's id, if one is needed.
    pub transaction_id: TransactionId,
}

impl Store {
    /// Returns slot and permit of a run whose compute is known to be gone. One that is over is settled
    /// with `charge` if that is still to be done; else it must wait for its children. False if the
    /// slot was returned before, or run or lease have changed: read them again.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn return_slot(
        &self,
        lease: &Lease,
        run: &Run,
        charge: &Charge,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let org = &lease.org_id;
        let is_over = run.status.is_terminal();
        let gone = if is_over {
            Change::new().set("computeStoppedAt", now)
        } else {
            Change::new().set("status", run.status)
        };
        // A report that it is dead may be repeated if its response was lost.
        let finished_by = lease.dead_at.and(lease.token_hash.as_ref());
        let gone = gone
            .set_some("finishedBy", finished_by)
            .when("status", run.status);
        let unsettled = (is_over && run.settled_at.is_none()).then(|| charge.settle(run));
        let mut transaction = Transaction::new()
            .delete(
                &Key::lease(org, &run.run_id),
                Change::new()
                    .when_present("closedAt")
                    .when_option("lastReportAt", lease.last_report_at)
                    .when_option("executedAt", lease.executed_at),
            )
            .return_permit(lease.capacity_shard)
            .update(&Key::tally(org), Change::new().add("slots", -1))
            .update(
                &Key::run(org, &run.run_id),
                match unsettled {
                    Some(settled) => gone.settled(settled, &run.usage, now),
                    None => gone,
                },
            );
        if let Some(settled) = unsettled {
            let settling = Settling {
                run,
                outcome: run.status,
                usage: &run.usage,
                completed_at: run.completed_at.unwrap_or(now),
                charge,
                settled,
            };
            transaction = transaction.settle(org, &settling, now)?;
        }
        let is_returned = transaction.commit(self).await?.is_yes();
        if let Some(settled) = unsettled.filter(|_| is_returned) {
            log_settled(run, run.status, settled, run.completed_at.unwrap_or(now));
        }
        Ok(is_returned)
    }
}

/// Counters for operators: outcomes of runs that were not stopped, their time, their charge.
pub(crate) fn log_settled(run: &Run, status: RunStatus, settled: Settlement, ended: Timestamp) {
    let succeeded = match status {
        RunStatus::Succeeded => Some(1),
        RunStatus::Failed => Some(0),
        _ => None,
    };
    let began = run.started_at.unwrap_or(ended);
    let minutes = (ended.epoch_ms() - began.epoch_ms()) as f64 / 60_000.0;
    let credits = settled.deduction.to_decimal();
    tracing::info!(event = "run_settled", run = %run.run_id, succeeded, minutes, credits, "run settled");
}

impl Charge {
    /// How it resolves the run's hold.
    pub(crate) fn settle(&self, run: &Run) -> Settlement {
        let cost = if self.is_free {
            MicroCredits::ZERO
        } else {
            self.cost.total()
        };
        settle(MicroCredits::from_micro(run.hold_micro), cost)
    }
}

impl Run {
    /// What budgets count of its settlement.
    pub(crate) fn settles(&self, settled: Settlement) -> Move {
        Move {
            of: self.reservation(),
            spent: settled.deduction.micro(),
            reserved: -self.hold_micro,
        }
    }
}

/// A hold of which nothing is taken.
pub(crate) fn released(run: &Run) -> Settlement {
    settle(MicroCredits::from_micro(run.hold_micro), MicroCredits::ZERO)
}

impl Change {
    /// A run whose hold is resolved.
    pub(crate) fn settled(
        self,
        settled: Settlement,
        usage: &[PricedUsage],
        now: Timestamp,
    ) -> Change {
        let cost = Cost {
            credits_micro: settled.deduction.micro(),
            usd_nano: PricedUsage::total(usage).nano(),
        };
        let hold = settled.deduction.plus(settled.release);
        self.set("cost", cost)
            .set("settledAt", now)
            .when_missing("settledAt")
            // Children may have got a part of it in the meantime.
            .when("holdMicro", hold.micro())
    }

    /// A balance of which a hold is resolved.
    pub(crate) fn resolve(self, hold_micro: i64, settled: Settlement, now: Timestamp) -> Change {
        let charged = settled.deduction > MicroCredits::ZERO;
        self.add("balance", -settled.deduction.micro())
            .add("reserved", -hold_micro)
            .add("available", settled.release.micro())
            .add("entries", i64::from(charged))
            .add("changes", 1)
            .set("updatedAt", now)
            .compare("balance", ">=", settled.deduction.micro())
            .compare("reserved", ">=", hold_micro)
    }
}

impl Transaction {
    /// Resolves the hold of a run: hold = deduction + release, once. What it used and cost is
    /// recorded.
    pub(crate) fn settle(
        self,
        org: &OrgId,
        of: &Settling<'_>,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let (run, charge, settled) = (of.run, of.charge, of.settled);
        let balance = Change::new().resolve(run.hold_micro, settled, now);
        let id = Some(&charge.transaction_id);
        let transaction = self
            .record_usage(org, run, of.usage, of.completed_at)?
            .record_cost(org, of)?
            .mark_settled(&Key::settlement(org, &run.run_id), (settled, id), now)?
            .balance(org, balance, vec![run.settles(settled)]);
        if settled.deduction == MicroCredits::ZERO {
            return Ok(transaction);
        }
        let tenant = run.tenant_context.as_ref();
        let entry = LedgerEntry {
            id: charge.transaction_id.clone(),
            kind: TransactionType::Deduction,
            amount_micro: settled.deduction.micro(),
            run_id: Some(run.run_id.clone()),
            verification_id: None,
            work_order_id: Some(run.work_order_id.clone()),
            tenant_id: tenant.map(|t| t.tenant_id.clone()),
            tenant_user_id: tenant.and_then(|t| t.tenant_user_id.clone()),
            parts: charge.cost.into(),
            price_list: run.price_list.clone(),
            about: earlier_month(of.completed_at, charge.transaction_id.made_at()),
            booking: Booking::default(),
            created_at: charge.transaction_id.made_at(),
            v: SCHEMA_VERSION,
        };
        transaction.book(org, &entry)
    }

    /// Writes down how a hold was resolved; the second time it is refused. The balance must change
    /// in the same transaction.
    pub(crate) fn mark_settled(
        self,
        key: &Key,
        (settled, charge): (Settlement, Option<&TransactionId>),
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let item = SettlementItem {
            deduction_micro: settled.deduction.micro(),
            release_micro: settled.release.micro(),
            settled_at: now,
            charge: charge.cloned(),
            v: SCHEMA_VERSION,
        };
        self.put(key, &item)
    }
}
