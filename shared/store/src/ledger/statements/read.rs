//! Statements entry by entry: what a month is closed by, and what answers for months of which there
//! are no sums, or none that agree with the ledger.

use std::collections::BTreeMap;

use awo_domain::cost::record::CostRecord;
use awo_domain::ledger::TransactionType;
use awo_domain::money::MicroCredits;
use awo_domain::statement::{Draft, Month, Statement};
use awo_domain::time::DAY_MS;
use awo_domain::{Error, OrgId, RunId, Timestamp, TransactionId, VerificationId};
use futures::future::try_join_all;
use serde::Deserialize;

use super::booked;
use crate::Store;
use crate::engine::key::{Partition, costs, holds, ledger_entries, new_costs, settlements};
use crate::engine::list::Slice;
use crate::engine::table::conflict_pause;
use crate::ledger::credits::LedgerEntry;

/// How far before a month holds are read that may be open at its end: a run that waits or works
/// for longer is not among them.
const HOLDS_BEFORE_MS: i64 = 92 * DAY_MS;
/// How often an open month is added up that changes meanwhile.
const TRIES: u32 = 6;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenHold {
    sk: RunId,
    amount_micro: i64,
    out_of: Option<RunId>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResolvedHold {
    sk: RunId,
    settled_at: Timestamp,
}

impl Store {
    /// A month that is not closed, as of a moment in which nothing is written.
    pub(super) async fn read_statement(
        &self,
        org: &OrgId,
        month: &Month,
    ) -> Result<Statement, Error> {
        let last_month = month.previous();
        let (previous, first) =
            tokio::try_join!(self.closed_statement(org, &last_month), self.balance(org))?;
        let mut before = first;
        for attempt in 0..TRIES {
            let (draft, later) = tokio::try_join!(
                Box::pin(self.draft(org, month)),
                Box::pin(self.booked_since(org, month.start()))
            )?;
            let after = self.balance(org).await?;
            if after.changes == before.changes {
                let open_holds = MicroCredits::from_micro(after.reserved);
                let opening = MicroCredits::from_micro(before.balance - later);
                return draft.open(opening, open_holds).chained(previous.as_ref());
            }
            conflict_pause(attempt).await;
            before = self.balance(org).await?;
        }
        Err(Error::contended(
            "statement: credits were booked all the time",
        ))
    }

    /// All of a month but its ends.
    pub(super) async fn draft(&self, org: &OrgId, month: &Month) -> Result<Draft, Error> {
        let days = std::iter::successors(Some(month.start()), |at| Some(at.plus_ms(DAY_MS)))
            .take_while(|at| *at < month.end());
        let each = try_join_all(days.map(|day| self.day_of_ledger(org, day)));
        let (policy, (_, mut values), days) =
            tokio::try_join!(self.cost_policy(org), self.head_and_values(org), each)?;
        let mut draft = Draft::new(month.clone(), policy.first_label());
        for (entries, records) in days {
            for entry in entries {
                draft.book(booked(entry));
            }
            (records.iter()).for_each(|record| draft.attribute(record, &mut values));
        }
        Ok(draft)
    }

    /// Entries and records of a day.
    async fn day_of_ledger(
        &self,
        org: &OrgId,
        day: Timestamp,
    ) -> Result<(Vec<LedgerEntry>, Vec<CostRecord>), Error> {
        let (low, high) = (
            TransactionId::new(day, 0),
            TransactionId::new(day.plus_ms(DAY_MS - 1), u128::MAX),
        );
        let between = |partition: Partition| {
            Slice::of_partition(partition).between(low.as_str(), high.as_str())
        };
        let (mut entries, mut new) = (Vec::new(), Vec::new());
        let (of_ledger, of_new) = (between(ledger_entries(org)), between(new_costs(org)));
        tokio::try_join!(
            self.each(&of_ledger, |entry: LedgerEntry| entries.push(entry)),
            self.each(&of_new, |record: CostRecord| new.push(record)),
        )?;
        // Behind the new ones: a record that is added to sums meanwhile is met twice, and never missed.
        let mut records: BTreeMap<TransactionId, CostRecord> =
            new.into_iter().map(|of| (of.id.clone(), of)).collect();
        let of_old = between(costs(org));
        let add = |record: CostRecord| drop(records.insert(record.id.clone(), record));
        self.each(&of_old, add).await?;
        Ok((entries, records.into_values().collect()))
    }

    /// The sum of entries since a moment.
    async fn booked_since(&self, org: &OrgId, since: Timestamp) -> Result<i64, Error> {
        let low = TransactionId::new(since, 0);
        let high = TransactionId::new(Timestamp::from_epoch_ms(i64::MAX), u128::MAX);
        let slice = Slice::of_partition(ledger_entries(org));
        let mut sum = 0;
        let add = |entry: LedgerEntry| {
            let amount = MicroCredits::from_micro(entry.amount_micro);
            sum += TransactionType::signed(entry.kind, amount).micro();
        };
        self.each(&slice.between(low.as_str(), high.as_str()), add)
            .await?;
        Ok(sum)
    }

    /// Holds that were made before the end of a month, and not resolved then.
    pub(super) async fn open_holds_at_end(
        &self,
        org: &OrgId,
        month: &Month,
    ) -> Result<MicroCredits, Error> {
        let end = month.end();
        let (first, last) = (month.start().plus_ms(-HOLDS_BEFORE_MS), end.plus_ms(-1));
        let (first_run, last_run) = (RunId::new(first, 0), RunId::new(last, u128::MAX));
        let verifications = (
            VerificationId::new(first, 0),
            VerificationId::new(last, u128::MAX),
        );
        let (mut open, mut taken) = (BTreeMap::new(), Vec::new());
        for (first, last) in [
            (first_run.as_str(), last_run.as_str()),
            (verifications.0.as_str(), verifications.1.as_str()),
        ] {
            let between =
                |partition: Partition| Slice::of_partition(partition).between(first, last);
            let (made, resolved) = (between(holds(org)), between(settlements(org)));
            let add = |hold: OpenHold| {
                taken.extend(hold.out_of.map(|parent| (parent, hold.amount_micro)));
                open.insert(hold.sk, hold.amount_micro);
            };
            self.each(&made, add).await?;
            let close = |resolved: ResolvedHold| {
                if resolved.settled_at < end {
                    open.remove(&resolved.sk);
                }
            };
            self.each(&resolved, close).await?;
        }
        for (parent, amount) in taken {
            if let Some(held) = open.get_mut(&parent) {
                *held -= amount;
            }
        }
        Ok(MicroCredits::from_micro(open.values().sum()))
    }
}
