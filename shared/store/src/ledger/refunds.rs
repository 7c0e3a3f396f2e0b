//! Refunds: credits that are given back for what was charged, in total at most the charge.

use awo_domain::cost::record::CostRecord;
use awo_domain::ledger::TransactionType;
use awo_domain::money::MicroCredits;
use awo_domain::{Error, OrgId, RunId, Timestamp, TransactionId, VerificationId};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::Key;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::ledger::budgets::{Move, Reservation};
use crate::ledger::credits::{
    BalanceItem, Booking, EntryParts, LedgerEntry, SettlementItem, refused,
};

/// Work that was charged, and that credits can be given back for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChargedWork {
    /// A run.
    Run(RunId),
    /// A manual verification.
    Verification(VerificationId),
}

impl ChargedWork {
    /// The id under which its hold was settled.
    fn id(&self) -> &str {
        match self {
            ChargedWork::Run(run) => run.as_str(),
            ChargedWork::Verification(verification) => verification.as_str(),
        }
    }

    fn made_at(&self) -> Timestamp {
        match self {
            ChargedWork::Run(run) => run.made_at(),
            ChargedWork::Verification(verification) => verification.made_at(),
        }
    }

    fn beyond(&self, cost_micro: i64) -> Error {
        let cost = MicroCredits::from_micro(cost_micro).to_decimal();
        let name = match self {
            ChargedWork::Run(_) => "run",
            ChargedWork::Verification(_) => "verification",
        };
        Error::Conflict(format!(
            "this {name} was charged {cost} credits; its refunds cannot exceed that in total"
        ))
    }
}

impl Store {
    /// Gives credits back for a run or a manual verification: all refunds of it together at most what it
    /// cost.
    ///
    /// # Errors
    /// [`Error::Conflict`] if it was not charged or would be refunded beyond its cost, or internal.
    pub async fn refund(
        &self,
        org: &OrgId,
        id: &TransactionId,
        work: &ChargedWork,
        (amount, booking): (MicroCredits, &Booking),
        now: Timestamp,
    ) -> Result<BalanceItem, Error> {
        let key = Key::settlement_of(org, work.id());
        let settled: Option<SettlementItem> = self.get(&key).await?;
        let cost = settled.as_ref().map_or(0, |s| s.deduction_micro);
        let left = cost - amount.micro();
        if left < 0 {
            return Err(work.beyond(cost));
        }
        let refunded = self.refunded(org, id, (work, amount), settled.as_ref());
        let (record, reserved_at) = refunded.await?;
        let entry = refund_entry(&record, amount, booking, settled.as_ref());
        let given_back = Move {
            of: Reservation {
                tenant: record.tenant_context.clone(),
                attribution: record.attribution.clone(),
                at: reserved_at,
            },
            spent: -amount.micro(),
            reserved: 0,
        };
        let within = Change::new()
            .add("refundedMicro", amount.micro())
            .set("updatedAt", now)
            .compare("refundedMicro", "<=", left);
        let first = Change::new()
            .add("refundedMicro", amount.micro())
            .set("updatedAt", now)
            .when_missing("refundedMicro");
        let refunds = Key::refunds(org, work.id());
        for change in [first, within] {
            let transaction = Transaction::new()
                .update(&refunds, change)
                .add_cost(org, &record)?;
            let changes = (transaction, vec![given_back.clone()]);
            match self.add_credits(changes, org, &entry).await? {
                // The entry is there already: this very call went through before.
                CommitOutcome::No(refusals) if refused(&refusals, ItemKind::LedgerEntry) => break,
                CommitOutcome::No(refusals) if refused(&refusals, ItemKind::Refunds) => {}
                committed => return self.credited(org, committed).await,
            }
        }
        let entry: Option<LedgerEntry> = self.get(&Key::ledger_entry(org, id)).await?;
        match entry {
            Some(_) => self.balance(org).await,
            None => Err(work.beyond(cost)),
        }
    }

    /// The record of a refund, and when the credits of what it refunds were reserved.
    async fn refunded(
        &self,
        org: &OrgId,
        id: &TransactionId,
        (work, amount): (&ChargedWork, MicroCredits),
        settled: Option<&SettlementItem>,
    ) -> Result<(CostRecord, Timestamp), Error> {
        match work {
            ChargedWork::Run(run) => {
                let record = self.refund_record(org, id, (run, amount), settled).await?;
                let held_at = self.run(org, run).await?.and_then(|run| run.held_at);
                Ok((record, held_at.unwrap_or(work.made_at())))
            }
            ChargedWork::Verification(_) => {
                let charge = settled.and_then(|settled| settled.charge.as_ref());
                let charge = match charge {
                    Some(charge) => self.cost_record(org, charge).await?,
                    None => None,
                };
                let charge = charge.ok_or_else(|| {
                    Error::internal("the cost record of a verification's charge is missing")
                })?;
                let of_run = (&charge.run_id, amount);
                let record = CostRecord::refund(id, of_run, Some(&charge));
                Ok((record, work.made_at()))
            }
        }
    }
}

fn refund_entry(
    record: &CostRecord,
    amount: MicroCredits,
    booking: &Booking,
    settled: Option<&SettlementItem>,
) -> LedgerEntry {
    let tenant = record.tenant_context.as_ref();
    LedgerEntry {
        id: record.id.clone(),
        kind: TransactionType::Refund,
        amount_micro: amount.micro(),
        run_id: Some(record.run_id.clone()),
        verification_id: record.verification_id.clone(),
        work_order_id: record.work_order_id.clone(),
        tenant_id: tenant.map(|t| t.tenant_id.clone()),
        tenant_user_id: tenant.and_then(|t| t.tenant_user_id.clone()),
        parts: EntryParts::default(),
        price_list: None,
        about: Store::charged_earlier(settled, record.at),
        booking: booking.clone(),
        created_at: record.at,
        v: SCHEMA_VERSION,
    }
}
