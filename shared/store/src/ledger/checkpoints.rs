//! Checkpoints of ledgers: the sum of an organization's entries, and its open holds, up to a time
//! before which nothing more is written. A check reads what follows its checkpoint, so it costs a
//! day's entries and not the history.
//!
//! A check only reads; it writes nothing but its own checkpoint. Entries, holds and settlements are
//! written in the transaction that changes the balance, which counts its changes: a check counts
//! only if the balance was the same before and after.

mod part;

use std::collections::BTreeMap;

use awo_domain::ledger::TransactionType;
use awo_domain::money::MicroCredits;
use awo_domain::{Error, OrgId, RunId, Timestamp, TransactionId, VerificationId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::batch::MAX_KEYS;
use crate::engine::change::Change;
use crate::engine::item::{DUE_LEDGERS, SCHEMA_VERSION};
use crate::engine::item_kind::Table;
use crate::engine::key::{Key, Partition, holds, ledger_entries, settlements};
use crate::engine::list::Slice;
use crate::engine::table::{UpdateOutcome, conflict_pause};
use crate::engine::transaction::Transaction;
use crate::ledger::credits::{BalanceItem, LedgerEntry};
use crate::sweep::{DueCursor, DuePage};

use part::{Hold, Holds, Part, SettledHold};

/// From check to check of an organization.
const PERIOD_MS: i64 = 24 * 3_600_000;
/// How soon a ledger that drifts is checked again: the finding stays until a check finds no drift.
const AGAIN_MS: i64 = 3_600_000;
/// How soon a ledger is checked again that changed during each comparison.
const BUSY_MS: i64 = 5 * 60_000;
/// An id is made when a request begins, and written before the function must end: nothing is
/// written later with an id that is so old.
const SETTLED_MS: i64 = 3_600_000;
/// Items of a kind in a step of a check, and most of the newest that it reads.
const STEP_ITEMS: u32 = 4_000;
/// Most holds that may be open at once: what a checkpoint can store.
const MAX_OPEN: usize = 4_000;
/// How often a reading is repeated that met a change, or that seems to show a drift.
const READS: u32 = 4;

/// A checkpoint as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    /// The owner.
    pub org_id: OrgId,
    /// Everything with an id from before is counted.
    until: Timestamp,
    /// The sum of the entries.
    balance_micro: i64,
    /// How many entries there are.
    entries: u64,
    /// The holds that were open when it was compared last.
    open_micro: BTreeMap<String, i64>,
    due_shard: String,
    /// When it is to be checked, Unix milliseconds.
    pub due_at: i64,
    v: u32,
}

/// The totals of a ledger, by its parts or by its balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sums {
    /// Micro-credits of all entries.
    pub balance: i64,
    /// Micro-credits of all open holds.
    pub reserved: i64,
    /// The one less the other.
    pub available: i64,
    /// How many entries there are.
    pub entries: u64,
}

/// The outcome of a check.
#[derive(Debug, PartialEq, Eq)]
pub enum LedgerCheck {
    /// The balance is the sum of its parts.
    Sound(Sums),
    /// It is not.
    Drifts {
        /// By entries and holds.
        expected: Sums,
        /// By the balance.
        found: Sums,
    },
    /// There is more to read than one check reads, or the balance kept changing: nothing is known.
    Unknown,
}

impl From<&BalanceItem> for Sums {
    fn from(item: &BalanceItem) -> Sums {
        Sums {
            balance: item.balance,
            reserved: item.reserved,
            available: item.available,
            entries: item.entries,
        }
    }
}

impl Checkpoint {
    /// One that knows of nothing: a check from here reads the whole history.
    #[must_use]
    pub fn begin(org: &OrgId, now: Timestamp) -> Checkpoint {
        // Organizations that are registered together are spread over the day.
        let spread = org.as_str().bytes().fold(7_u32, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(u32::from(byte))
        });
        let wait_ms = i64::from(spread) % PERIOD_MS;
        Checkpoint {
            org_id: org.clone(),
            until: Timestamp::from_epoch_ms(0),
            balance_micro: 0,
            entries: 0,
            open_micro: BTreeMap::new(),
            due_shard: DUE_LEDGERS.to_owned(),
            due_at: now.plus_ms(wait_ms).epoch_ms(),
            v: SCHEMA_VERSION,
        }
    }

    /// With what is written of the time from where it ends until `until`.
    fn count(&mut self, part: &Part, until: Timestamp) -> Result<(), Error> {
        let before = TransactionId::new(until, 0);
        for entry in part.entries.items.iter().filter(|entry| entry.id < before) {
            self.balance_micro += signed(entry);
            self.entries += 1;
        }
        let holds = || part.holds.items.iter().filter(|hold| hold.is_before(until));
        let open = holds().filter(|hold| !part.settled.contains(&hold.sk));
        let open = open.map(|hold| (hold.sk.clone(), hold.amount_micro));
        self.open_micro.extend(open);
        for hold in holds() {
            self.take_out(hold);
        }
        self.until = until;
        if self.open_micro.len() <= MAX_OPEN {
            Ok(())
        } else {
            Err(Error::internal("more holds are open than can be checked"))
        }
    }

    /// Of a hold that was a part of another one's: that has so much less, while it is open.
    fn take_out(&mut self, hold: &Hold) {
        let parent = hold.out_of.as_ref();
        if let Some(parents) = parent.and_then(|run| self.open_micro.get_mut(run)) {
            *parents -= hold.amount_micro;
        }
    }

    /// The totals, with what is newer.
    fn sums(&self, newest: &Part) -> Sums {
        let mut all = self.clone();
        let holds = newest.holds.items.iter();
        let open = holds.filter(|hold| !newest.settled.contains(&hold.sk));
        let open = open.map(|hold| (hold.sk.clone(), hold.amount_micro));
        all.open_micro.extend(open);
        newest
            .holds
            .items
            .iter()
            .for_each(|hold| all.take_out(hold));
        let entries = newest.entries.items.iter();
        let balance = self.balance_micro + entries.map(signed).sum::<i64>();
        let reserved = all.open_micro.values().sum::<i64>();
        Sums {
            balance,
            reserved,
            available: balance - reserved,
            entries: self.entries + newest.entries.items.len() as u64,
        }
    }
}

fn signed(entry: &LedgerEntry) -> i64 {
    let amount = MicroCredits::from_micro(entry.amount_micro);
    TransactionType::signed(entry.kind, amount).micro()
}

impl Store {
    /// Organizations whose ledgers are to be checked, those that wait longest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn due_checkpoints(
        &self,
        after: Option<&DueCursor>,
        now: Timestamp,
        limit: u32,
    ) -> Result<DuePage<OrgId>, Error> {
        let partition = (Table::Work, DUE_LEDGERS.to_owned());
        let page = self.due_keys(partition, after, now, limit).await?;
        Ok(page.owners())
    }

    /// The checkpoint of an organization, if it has one.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn checkpoint(&self, org: &OrgId) -> Result<Option<Checkpoint>, Error> {
        self.get(&Key::checkpoint(org)).await
    }

    /// Checks a ledger from a checkpoint on, reading at most `steps` times [`STEP_ITEMS`] of it,
    /// and gives the checkpoint from which the next check goes on, when that is due.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails or more than 4 000 holds are open.
    pub async fn check_ledger(
        &self,
        from: &Checkpoint,
        steps: u32,
        now: Timestamp,
    ) -> Result<(LedgerCheck, Checkpoint), Error> {
        let mut next = from.clone();
        let settled_until = now.plus_ms(-SETTLED_MS);
        for _ in 0..steps {
            if next.until >= settled_until {
                break;
            }
            let part = Box::pin(self.written(&next, Some(settled_until))).await?;
            let until = part.whole_until(settled_until);
            if until == next.until {
                return Err(Error::internal("too much was written in one moment"));
            }
            next.count(&part, until)?;
        }
        let checked = if next.until >= settled_until {
            Box::pin(self.compare_newest(&mut next)).await?
        } else {
            LedgerCheck::Unknown
        };
        let wait_ms = match &checked {
            LedgerCheck::Sound(_) => PERIOD_MS,
            LedgerCheck::Drifts { .. } => AGAIN_MS,
            LedgerCheck::Unknown if next.until < settled_until => 0,
            LedgerCheck::Unknown => BUSY_MS,
        };
        next.due_at = now.plus_ms(wait_ms).epoch_ms();
        Ok((checked, next))
    }

    /// Writes the checkpoint of a check, unless another check was faster.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn advance_checkpoint(
        &self,
        from: &Checkpoint,
        next: &Checkpoint,
    ) -> Result<(), Error> {
        let same = Change::new()
            .when("until", from.until)
            .when("dueAt", from.due_at);
        let key = Key::checkpoint(&from.org_id);
        Transaction::new()
            .put_when(&key, next, same)?
            .commit(self)
            .await?;
        Ok(())
    }

    /// Begins with a checkpoint, whatever was there: that of a check of the whole history, or of an
    /// organization that has none.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn replace_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let key = Key::checkpoint(&checkpoint.org_id);
        let any = Change::new();
        Transaction::new()
            .put_when(&key, checkpoint, any)?
            .commit(self)
            .await?;
        Ok(())
    }

    /// A ledger that cannot be checked is compared at again later.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn check_again(&self, of: &Checkpoint, now: Timestamp) -> Result<(), Error> {
        let later = Change::new()
            .set("dueAt", now.plus_ms(AGAIN_MS).epoch_ms())
            .when("dueAt", of.due_at);
        let key = Key::checkpoint(&of.org_id);
        let (UpdateOutcome::New(_) | UpdateOutcome::Refused(_)) = self.update(&key, later).await?;
        Ok(())
    }

    /// Compares the balance with all that is written, until both were compared at while nothing was
    /// written. What seems to be a drift is compared at again: a transaction's items do not become
    /// visible in one moment.
    async fn compare_newest(&self, from: &mut Checkpoint) -> Result<LedgerCheck, Error> {
        let mut seen = None;
        for attempt in 0..READS {
            let before = self.balance(&from.org_id).await?;
            let (newest, open) = tokio::try_join!(
                Box::pin(self.written(from, None)),
                Box::pin(self.still_open(&from.org_id, &from.open_micro))
            )?;
            let after = self.balance(&from.org_id).await?;
            if newest.is_cut_off() {
                return Ok(LedgerCheck::Unknown);
            }
            let compared = Checkpoint {
                open_micro: open,
                ..from.clone()
            };
            let (expected, found) = (compared.sums(&newest), Sums::from(&after));
            if before == after && expected == found {
                *from = compared;
                return Ok(LedgerCheck::Sound(found));
            }
            if before == after && seen.as_ref() == Some(&(expected, after.clone())) {
                return Ok(LedgerCheck::Drifts { expected, found });
            }
            seen = (before == after).then_some((expected, after));
            conflict_pause(READS + attempt).await;
        }
        Ok(LedgerCheck::Unknown)
    }

    /// What is written of the time after a checkpoint.
    async fn written(&self, after: &Checkpoint, until: Option<Timestamp>) -> Result<Part, Error> {
        let org = &after.org_id;
        let last = until.map_or(Timestamp::from_epoch_ms(i64::MAX), |at| at.plus_ms(-1));
        let (low, high) = (
            TransactionId::new(after.until, 0),
            TransactionId::new(last, u128::MAX),
        );
        let part = |partition: Partition| Slice::of_partition(partition).limit(STEP_ITEMS);
        let (first_run, last_run) = (RunId::new(after.until, 0), RunId::new(last, u128::MAX));
        let runs =
            |partition: Partition| part(partition).between(first_run.as_str(), last_run.as_str());
        let first = VerificationId::new(after.until, 0);
        let last = VerificationId::new(last, u128::MAX);
        let verifications =
            |partition: Partition| part(partition).between(first.as_str(), last.as_str());
        let entries = part(ledger_entries(org)).between(low.as_str(), high.as_str());
        // Nothing is settled that has no hold, so these are not cut off where those are not.
        let settled = runs(settlements(org)).keys_only();
        let settled_verifications = verifications(settlements(org)).keys_only();
        let (entries, of_runs, of_verifications, settled, settled_verifications) = tokio::try_join!(
            self.slice(entries),
            self.slice(runs(holds(org))),
            self.slice(verifications(holds(org))),
            self.slice::<SettledHold>(settled),
            self.slice::<SettledHold>(settled_verifications),
        )?;
        let settled = settled.items.into_iter().chain(settled_verifications.items);
        Ok(Part {
            entries,
            holds: Holds::of([of_runs, of_verifications]),
            settled: settled.map(|item| item.sk).collect(),
        })
    }

    /// Which of these holds are not resolved yet.
    async fn still_open(
        &self,
        org: &OrgId,
        open: &BTreeMap<String, i64>,
    ) -> Result<BTreeMap<String, i64>, Error> {
        let mut still = open.clone();
        let runs: Vec<&String> = open.keys().collect();
        for runs in runs.chunks(MAX_KEYS) {
            let key = |run: &&String| Key::settlement_of(org, run);
            let settled = self.batch(runs.iter().map(key)).await?;
            for key in settled.keys() {
                still.remove(&key.sk);
            }
        }
        Ok(still)
    }
}
