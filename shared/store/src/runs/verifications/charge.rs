//! The money of a manual verification: a hold that is made with its permits, and its settlement in the
//! transaction that ends it. It is settled under its own id, and put down to the run whose workspace it is
//! of, with the run's tenant and attribution; the run's own cost does not change.

use awo_domain::cost::record::{ChargeInputs, CostRecord};
use awo_domain::ledger::{Settlement, TransactionType, settle};
use awo_domain::money::MicroCredits;
use awo_domain::{Error, OrgId, Timestamp};

use super::{MAX_VERIFICATIONS, Verification, VerificationStanding};
use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::Key;
use crate::engine::transaction::{Refusal, Transaction};
use crate::ledger::budgets::{Move, Reservation, over_budget};
use crate::ledger::credits::{Booking, LedgerEntry, insufficient};
use crate::ledger::statements::earlier_month;
use crate::runs::lifecycle::settle::Charge;
use crate::runs::verified_run::VerifiedRun;

impl Verification {
    /// Duration of its paid compute, in milliseconds: from its first process of client code to its result,
    /// or to `now`.
    #[must_use]
    pub fn compute_ms(&self, now: Timestamp) -> i64 {
        let end = self.finished_at.unwrap_or(now);
        self.executed_at
            .map_or(0, |began| end.ms_since(began).max(0))
    }

    /// Reservation of its hold, which counts at the time of the request.
    #[must_use]
    pub fn reservation(&self) -> Reservation {
        let run = self.run.as_ref();
        Reservation {
            tenant: run.and_then(|run| run.tenant_context.clone()),
            attribution: run.and_then(|run| run.attribution.clone()),
            at: self.verification_id.made_at(),
        }
    }

    fn hold(&self) -> MicroCredits {
        MicroCredits::from_micro(self.hold_micro)
    }

    /// The error of a hold that does not fit, if that is what refused the transaction.
    pub(super) fn not_funded(&self, refusals: Vec<Refusal>) -> Result<Option<Error>, Error> {
        let over = over_budget(&refusals);
        let mut refusals = refusals.into_iter();
        match refusals.find(|refusal| refusal.kind == ItemKind::Balance) {
            Some(balance) => insufficient(self.hold(), balance.item).map(Some),
            None => Ok(over),
        }
    }

    /// The start of client code by a report.
    pub(super) fn executed_by(
        &self,
        standing: &VerificationStanding,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let begins = matches!(standing, VerificationStanding::Begun {});
        begins.then(|| self.executed_at.unwrap_or(now))
    }

    /// The end of the paid compute by a report.
    pub(super) fn finished_by(
        &self,
        standing: &VerificationStanding,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let is_end = matches!(
            standing,
            VerificationStanding::Finished { .. } | VerificationStanding::Refused { .. }
        );
        is_end.then_some(now)
    }

    fn settlement(&self, charge: &Charge) -> Settlement {
        let cost = if charge.is_free {
            MicroCredits::ZERO
        } else {
            charge.cost.total()
        };
        settle(self.hold(), cost)
    }

    fn record(&self, run: &VerifiedRun, charge: &Charge, settled: Settlement) -> CostRecord {
        let inputs = ChargeInputs {
            usage: &[],
            compute_ms: charge.compute_ms,
            cost: charge.cost,
            is_free: charge.is_free,
            deduction: settled.deduction,
        };
        CostRecord {
            id: charge.transaction_id.clone(),
            at: charge.transaction_id.made_at(),
            run_id: run.run_id.clone(),
            verification_id: Some(self.verification_id.clone()),
            work_order_id: Some(run.work_order_id.clone()),
            outcome: None,
            tenant_context: run.tenant_context.clone(),
            attribution: run.attribution.clone(),
            is_refund: false,
            price_list: None,
            parts: inputs.parts(None),
        }
    }

    fn entry(
        &self,
        run: &VerifiedRun,
        charge: &Charge,
        (settled, now): (Settlement, Timestamp),
    ) -> LedgerEntry {
        let tenant = run.tenant_context.as_ref();
        let booked_at = charge.transaction_id.made_at();
        LedgerEntry {
            id: charge.transaction_id.clone(),
            kind: TransactionType::Deduction,
            amount_micro: settled.deduction.micro(),
            run_id: Some(run.run_id.clone()),
            verification_id: Some(self.verification_id.clone()),
            work_order_id: Some(run.work_order_id.clone()),
            tenant_id: tenant.map(|t| t.tenant_id.clone()),
            tenant_user_id: tenant.and_then(|t| t.tenant_user_id.clone()),
            parts: charge.cost.into(),
            price_list: None,
            about: earlier_month(self.finished_at.unwrap_or(now), booked_at),
            booking: Booking::default(),
            created_at: booked_at,
            v: SCHEMA_VERSION,
        }
    }

    /// The condition that nothing has changed of what its charge was made by.
    fn charged_as_read(&self) -> Change {
        self.ours()
            .when_option("executedAt", self.executed_at)
            .when_option("finishedAt", self.finished_at)
    }
}

impl Transaction {
    /// Reserves the credits of a verification.
    pub(super) fn hold_for_verification(
        self,
        of: &Verification,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let (org, amount) = (&of.org_id, of.hold());
        let balance = Change::new().reserve(amount.micro(), now);
        let moves = vec![Move::reserves(of.reservation(), amount.micro())];
        self.balance(org, balance, moves)
            .record_hold_of_verification(org, &of.verification_id, amount, now)
    }

    /// Resolves the hold of a verification: hold = deduction + release, once. A verification from before
    /// they were charged has none.
    fn settle_verification(
        self,
        of: &Verification,
        charge: &Charge,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let Some(run) = of.run.as_ref().filter(|_| of.hold_micro > 0) else {
            return Ok(self);
        };
        let (org, settled) = (&of.org_id, of.settlement(charge));
        let balance = Change::new().resolve(of.hold_micro, settled, now);
        let moves = vec![Move {
            of: of.reservation(),
            spent: settled.deduction.micro(),
            reserved: -of.hold_micro,
        }];
        let key = Key::settlement_of(org, of.verification_id.as_str());
        let id = of.executed_at.map(|_| &charge.transaction_id);
        let transaction = self
            .mark_settled(&key, (settled, id), now)?
            .balance(org, balance, moves);
        if of.executed_at.is_none() {
            return Ok(transaction);
        }
        let transaction = transaction.add_cost(org, &of.record(run, charge, settled))?;
        if settled.deduction == MicroCredits::ZERO {
            return Ok(transaction);
        }
        transaction.book(org, &of.entry(run, charge, (settled, now)))
    }
}

impl Store {
    /// All that are under way.
    pub(crate) async fn open_verifications(&self, org: &OrgId) -> Result<Vec<Verification>, Error> {
        let mut open = Vec::new();
        for permit in 1..=MAX_VERIFICATIONS {
            open.extend(self.verification_at(org, permit).await?);
        }
        Ok(open)
    }

    /// Ends a verification: its permits are free, and its hold is settled with `charge`. False if it has
    /// ended, or if what is paid has changed since it was read: read it again.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn end_verification(
        &self,
        of: &Verification,
        charge: &Charge,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.end_verification_when(of, of.charged_as_read(), (charge, now))
            .await
    }

    /// Ends a verification as [`Store::end_verification`] does, unless anything has changed since it was read.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn end_forgotten_verification(
        &self,
        of: &Verification,
        charge: &Charge,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let unchanged = of
            .charged_as_read()
            .when("changedAt", of.changed_at)
            .when("dueAt", of.due_at);
        self.end_verification_when(of, unchanged, (charge, now))
            .await
    }

    async fn end_verification_when(
        &self,
        of: &Verification,
        unchanged: Change,
        (charge, now): (&Charge, Timestamp),
    ) -> Result<bool, Error> {
        let ended = Transaction::new()
            .delete(&of.key(), unchanged)
            .return_permit(of.capacity_shard)
            .settle_verification(of, charge, now)?
            .commit(self)
            .await?;
        if ended.is_yes() && of.executed_at.is_some() {
            let credits = of.settlement(charge).deduction.to_decimal();
            tracing::info!(event = "verification_settled", id = %of.verification_id, credits, "verification settled");
        }
        Ok(ended.is_yes())
    }
}
