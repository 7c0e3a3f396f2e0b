//! Statements of months. One that is closed is an item that is written once; one that is open is
//! added up when it is asked for, from the ledger's entries and the records of costs of that month.

use std::collections::BTreeMap;

use awo_domain::cost::record::CostRecord;
use awo_domain::ledger::TransactionType;
use awo_domain::money::MicroCredits;
use awo_domain::statement::{Booked, Draft, Month, Statement};
use awo_domain::time::DAY_MS;
use awo_domain::{Error, OrgId, RunId, Timestamp, TransactionId};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::{
    Key, Partition, costs, holds, ledger_entries, new_costs, settlements, statements,
};
use crate::engine::list::Slice;
use crate::engine::table::conflict_pause;
use crate::engine::transaction::Transaction;
use crate::ledger::credits::{LedgerEntry, SettlementItem};

/// Most months that one call closes; the next one goes on.
const MAX_CLOSED: usize = 36;
/// More months than any organization has closed.
const MAX_MONTHS: u32 = 1_200;
/// How far before a month holds are looked for that are open at its end: a run that waits or works
/// for longer is not among them.
const HOLDS_BEFORE_MS: i64 = 92 * DAY_MS;
/// How often an open month is added up that changes meanwhile.
const TRIES: u32 = 6;

/// A closed statement as it is stored: as it was hashed.
#[derive(Debug, Serialize, Deserialize)]
struct StatementItem {
    json: String,
    v: u32,
}

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

impl StatementItem {
    fn read(&self) -> Result<Statement, Error> {
        serde_json::from_str(&self.json).map_err(Error::internal)
    }
}

impl Store {
    /// The statement of a month; none of a month before the first entry, or that has not begun.
    ///
    /// # Errors
    /// [`Error::Contended`] if an open month kept changing, or internal.
    pub async fn statement(
        &self,
        org: &OrgId,
        month: &Month,
        now: Timestamp,
    ) -> Result<Option<Statement>, Error> {
        let (closed, first) =
            tokio::try_join!(self.closed_statement(org, month), self.first_month(org))?;
        if closed.is_some() {
            return Ok(closed);
        }
        let is_there = first.is_some_and(|first| first <= *month) && *month <= Month::of(now);
        match is_there {
            true => Box::pin(self.open_statement(org, month, now))
                .await
                .map(Some),
            false => Ok(None),
        }
    }

    /// The statements of all months, newest first: a month that is not closed is added up.
    ///
    /// # Errors
    /// As [`Store::statement`].
    pub async fn statements(&self, org: &OrgId, now: Timestamp) -> Result<Vec<Statement>, Error> {
        let (mut all, first) =
            tokio::try_join!(self.closed_statements(org), self.first_month(org))?;
        let next = all.last().map(|of| of.month.next()).or(first);
        let mut month = match next {
            Some(month) => month,
            None => return Ok(all),
        };
        while month <= Month::of(now) {
            all.push(Box::pin(self.open_statement(org, &month, now)).await?);
            month = month.next();
        }
        all.reverse();
        Ok(all)
    }

    /// Closes the months of an organization that are due, oldest first, or all up to `until`; says
    /// which.
    ///
    /// # Errors
    /// [`Error::Conflict`] if `until` can still change, or internal.
    pub async fn close_months(
        &self,
        org: &OrgId,
        until: Option<&Month>,
        now: Timestamp,
    ) -> Result<Vec<Statement>, Error> {
        if let Some(until) = until.filter(|until| until.closable_at() > now) {
            return Err(Error::Conflict(format!(
                "{until} can be closed from {} on: until then something may be booked in it",
                until.closable_at()
            )));
        }
        let mut last = self.last_closed(org).await?;
        let next = match &last {
            Some(last) => Some(last.month.next()),
            None => self.first_month(org).await?,
        };
        let (mut closed, mut next) = (Vec::new(), next);
        while let Some(month) = next.take() {
            let is_due = match until {
                Some(until) => month <= *until,
                None => month.closes_at() <= now,
            };
            if !is_due || closed.len() >= MAX_CLOSED {
                break;
            }
            let statement = Box::pin(self.close_month(org, &month, last.as_ref(), now)).await?;
            next = Some(month.next());
            last = Some(statement.clone());
            closed.push(statement);
        }
        Ok(closed)
    }

    /// Closes a month behind the one before it; whoever is late gets what was written.
    async fn close_month(
        &self,
        org: &OrgId,
        month: &Month,
        previous: Option<&Statement>,
        now: Timestamp,
    ) -> Result<Statement, Error> {
        let draft = self.draft(org, month).await?;
        let open_holds = self.open_holds_at_end(org, month).await?;
        let opening = previous.map_or(MicroCredits::ZERO, |of| of.closing_balance);
        let statement = draft.open(opening, open_holds).closed(previous, now)?;
        let item = StatementItem {
            json: serde_json::to_string(&statement).map_err(Error::internal)?,
            v: SCHEMA_VERSION,
        };
        let key = Key::statement(org, month);
        let put = Transaction::new().put(&key, &item)?;
        match put.commit(self).await?.is_yes() {
            true => Ok(statement),
            false => {
                let known = self.closed_statement(org, month).await?;
                known.ok_or_else(|| Error::internal("a statement was there and is not"))
            }
        }
    }

    async fn closed_statement(
        &self,
        org: &OrgId,
        month: &Month,
    ) -> Result<Option<Statement>, Error> {
        let key = Key::statement(org, month);
        let item: Option<StatementItem> = self.get(&key).await?;
        item.map(|item| item.read()).transpose()
    }

    async fn last_closed(&self, org: &OrgId) -> Result<Option<Statement>, Error> {
        let slice = Slice::of_partition(statements(org));
        let last = self
            .slice::<StatementItem>(slice.newest_first().limit(1))
            .await?;
        last.items.first().map(StatementItem::read).transpose()
    }

    /// Those that are closed, oldest first.
    async fn closed_statements(&self, org: &OrgId) -> Result<Vec<Statement>, Error> {
        let slice = Slice::of_partition(statements(org)).limit(MAX_MONTHS);
        let all = self.slice::<StatementItem>(slice).await?.items;
        all.iter().map(StatementItem::read).collect()
    }

    /// The month of the first entry.
    async fn first_month(&self, org: &OrgId) -> Result<Option<Month>, Error> {
        let slice = Slice::of_partition(ledger_entries(org)).limit(1);
        let first = self.slice::<LedgerEntry>(slice).await?.items;
        Ok(first.first().map(|entry| Month::of(entry.created_at)))
    }

    /// A month that is not closed, as of a moment in which nothing is written.
    async fn open_statement(
        &self,
        org: &OrgId,
        month: &Month,
        now: Timestamp,
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
            let open_holds = match month.end() > now {
                true => MicroCredits::from_micro(before.reserved),
                false => Box::pin(self.open_holds_at_end(org, month)).await?,
            };
            let after = self.balance(org).await?;
            if after.changes == before.changes {
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
    async fn draft(&self, org: &OrgId, month: &Month) -> Result<Draft, Error> {
        let days = std::iter::successors(Some(month.start()), |at| Some(at.plus_ms(DAY_MS)))
            .take_while(|at| *at < month.end());
        let each = try_join_all(days.map(|day| self.day_of_ledger(org, day)));
        let (policy, days) = tokio::try_join!(self.cost_policy(org), each)?;
        let label = policy.labels.all().first().map(|label| label.name.clone());
        let mut draft = Draft::new(month.clone(), label);
        for (entries, records) in days {
            for entry in entries {
                draft.book(booked(entry));
            }
            records.iter().for_each(|record| draft.attribute(record));
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

    /// What entries come to since a moment.
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
    async fn open_holds_at_end(&self, org: &OrgId, month: &Month) -> Result<MicroCredits, Error> {
        let end = month.end();
        let first = RunId::new(month.start().plus_ms(-HOLDS_BEFORE_MS), 0);
        let last = RunId::new(end.plus_ms(-1), u128::MAX);
        let between = |partition: Partition| {
            let slice = Slice::of_partition(partition);
            slice.between(first.as_str(), last.as_str())
        };
        let (mut open, mut taken) = (BTreeMap::new(), Vec::new());
        let (made, resolved) = (between(holds(org)), between(settlements(org)));
        let add = |hold: OpenHold| {
            taken.extend(hold.out_of.map(|parent| (parent, hold.amount_micro)));
            open.insert(hold.sk, hold.amount_micro);
        };
        self.each(&made, add).await?;
        let close = |of: ResolvedHold| {
            if of.settled_at < end {
                open.remove(&of.sk);
            }
        };
        self.each(&resolved, close).await?;
        for (parent, amount) in taken {
            if let Some(held) = open.get_mut(&parent) {
                *held -= amount;
            }
        }
        Ok(MicroCredits::from_micro(open.values().sum()))
    }

    /// When a run was charged, for a refund of it that is booked in a later month.
    pub(crate) fn charged_earlier(
        settled: Option<&SettlementItem>,
        at: Timestamp,
    ) -> Option<Timestamp> {
        let charged = settled.and_then(|settled| Some(settled.charge.as_ref()?.made_at()))?;
        earlier_month(charged, at)
    }
}

/// A moment, if it is in an earlier month than another one.
pub(crate) fn earlier_month(at: Timestamp, than: Timestamp) -> Option<Timestamp> {
    (Month::of(at) < Month::of(than)).then_some(at)
}

fn booked(entry: LedgerEntry) -> Booked {
    Booked {
        id: entry.id,
        kind: entry.kind,
        amount: MicroCredits::from_micro(entry.amount_micro),
        at: entry.created_at,
        run_id: entry.run_id,
        about: entry.about,
        price_list: entry.price_list,
        reference: entry.booking.reference,
    }
}
