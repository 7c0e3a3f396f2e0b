//! Holds: credits reserved for a run, or a manual verification, from its creation until its settlement. A
//! hold is written once and never changes. The holds of an agent's children come out of the hold of the requesting run:
//! that run holds so much less, and the balance does not change.

use awo_domain::money::MicroCredits;
use awo_domain::{Error, OrgId, RunId, Timestamp, VerificationId};
use serde::{Deserialize, Serialize};

use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::ledger::budgets::{Move, Reservation};
use crate::runs::Run;

/// A hold, from the creation of a run until its settlement.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HoldItem {
    pub amount_micro: i64,
    /// The run whose hold had it before: what children that an agent asked for hold comes out of
    /// the hold of the run that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of: Option<RunId>,
    pub created_at: Timestamp,
    pub v: u32,
}

/// A run out of whose hold another one's comes.
#[derive(Debug, Clone)]
pub struct ParentsHold {
    /// The run that asks for children.
    pub run_id: RunId,
    /// What it has cost so far: that part of its hold is its own.
    pub used: MicroCredits,
    /// Where its hold counts.
    pub of: Reservation,
}

impl Transaction {
    /// Reserves credits for a run that was decided by this version of what the organization declares
    /// about its costs.
    pub(crate) fn hold(
        self,
        org: &OrgId,
        run: &Run,
        policy: u64,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let amount = MicroCredits::from_micro(run.hold_micro);
        let balance = Change::new().reserve(amount.micro(), now);
        let moves = vec![Move::reserves(run.reservation(), amount.micro())];
        self.balance(org, balance.when_policy(policy), moves)
            .record_hold(org, &run.run_id, amount, now)
    }

    /// Reserves credits for a run out of what another one holds: of the balance nothing changes but the
    /// number of its changes. Where the two count in other budgets, the credits count there.
    pub(crate) fn hold_out_of(
        self,
        org: &OrgId,
        run: &Run,
        parent: &ParentsHold,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let amount = MicroCredits::from_micro(run.hold_micro);
        let moves = vec![
            Move::reserves(parent.of.clone(), -amount.micro()),
            Move::reserves(run.reservation(), amount.micro()),
        ];
        let balance = Change::new().add("changes", 1).set("updatedAt", now);
        let least = parent.used.plus(amount);
        let less = Change::new()
            .add("holdMicro", -amount.micro())
            .compare("holdMicro", ">=", least.micro())
            .when_missing("settledAt");
        let of_parent = Key::parent_run(org, &parent.run_id);
        self.update(&of_parent, less)
            .balance(org, balance, moves)
            .write_hold(
                &Key::hold(org, &run.run_id),
                (amount, Some(&parent.run_id)),
                now,
            )
    }

    /// Writes down what is reserved for a run. The balance must change in the same transaction.
    pub(crate) fn record_hold(
        self,
        org: &OrgId,
        run: &RunId,
        amount: MicroCredits,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        self.write_hold(&Key::hold(org, run), (amount, None), now)
    }

    /// Writes down what is reserved for a manual verification. The balance must change in the same
    /// transaction.
    pub(crate) fn record_hold_of_verification(
        self,
        org: &OrgId,
        id: &VerificationId,
        amount: MicroCredits,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let key = Key::hold_of(org, id.as_str());
        self.write_hold(&key, (amount, None), now)
    }

    /// Writes down that nothing was reserved for a run that ends while it waits for a budget: whatever
    /// is settled has a hold.
    pub(crate) fn hold_nothing(
        self,
        org: &OrgId,
        run: &Run,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        if run.waits_for_budget {
            self.record_hold(org, &run.run_id, MicroCredits::ZERO, now)
        } else {
            Ok(self)
        }
    }

    fn write_hold(
        self,
        key: &Key,
        (amount, out_of): (MicroCredits, Option<&RunId>),
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let hold = HoldItem {
            amount_micro: amount.micro(),
            out_of: out_of.cloned(),
            created_at: now,
            v: SCHEMA_VERSION,
        };
        self.put(key, &hold)
    }
}
