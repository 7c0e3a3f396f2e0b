//! Holds: credits reserved for a run from its creation until its settlement. A hold is written once
//! and never changes. The holds of an agent's children come out of the hold of the requesting run:
//! that run holds so much less, and the balance does not change.

use awo_domain::money::MicroCredits;
use awo_domain::{Error, OrgId, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::change::Change;
use crate::item::{Key, SCHEMA_VERSION};
use crate::transaction::{Guard, Transaction};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentsHold {
    /// The run that asks for children.
    pub run_id: RunId,
    /// What it has cost so far: that part of its hold is its own.
    pub used: MicroCredits,
}

impl Transaction {
    /// Reserves credits for a run that was decided by this version of what the organization declares
    /// about its costs.
    pub(crate) fn hold(
        self,
        store: &Store,
        org: &OrgId,
        run: &RunId,
        (amount, policy): (MicroCredits, u64),
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        self.update(
            Guard::Balance,
            &store.tables.ledger,
            &Key::balance(org),
            Change::new()
                .reserve(amount.micro(), now)
                .when_policy(policy),
        )?
        .keep_hold(store, org, run, amount, now)
    }

    /// Reserves credits for a run out of what another one holds: the balance does not change.
    pub(crate) fn hold_out_of(
        self,
        store: &Store,
        org: &OrgId,
        run: &RunId,
        amount: MicroCredits,
        parent: &ParentsHold,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let least = parent.used.plus(amount);
        let less = Change::new()
            .add("holdMicro", -amount.micro())
            .compare("holdMicro", ">=", least.micro())
            .when_missing("settledAt");
        let of_parent = Key::run(org, &parent.run_id);
        self.update(Guard::ParentsHold, &store.tables.work, &of_parent, less)?
            .write_hold(store, org, run, (amount, Some(&parent.run_id)), now)
    }

    /// Writes down what is reserved for a run. The balance must change in the same transaction.
    pub(crate) fn keep_hold(
        self,
        store: &Store,
        org: &OrgId,
        run: &RunId,
        amount: MicroCredits,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        self.write_hold(store, org, run, (amount, None), now)
    }

    fn write_hold(
        self,
        store: &Store,
        org: &OrgId,
        run: &RunId,
        (amount, out_of): (MicroCredits, Option<&RunId>),
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let hold = HoldItem {
            amount_micro: amount.micro(),
            out_of: out_of.cloned(),
            created_at: now,
            v: SCHEMA_VERSION,
        };
        let key = Key::hold(org, run);
        self.put(Guard::Hold, &store.tables.ledger, &key, &hold)
    }
}
