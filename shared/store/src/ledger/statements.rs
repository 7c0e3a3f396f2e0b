//! Statements of months. One that is closed is an item that is written once, added up from the ledger's
//! entries and the records of costs. One that is open is made from sums, the records that are in no
//! sums yet, and the entries that are listed one by one: it costs the same however many runs there were.

pub(crate) mod listed;
mod read;
mod recent;

use awo_domain::money::MicroCredits;
use awo_domain::statement::{BookedEntry, Month, Statement};
use awo_domain::time::DAY_MS;
use awo_domain::{Error, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::{Key, ledger_entries, statements};
use crate::engine::list::Slice;
use crate::engine::table::UpdateOutcome;
use crate::engine::transaction::Transaction;
use crate::ledger::credits::{LedgerEntry, SettlementItem};

/// Most months that one call closes; the next one goes on.
const MAX_CLOSED: usize = 36;
/// More months than any organization has closed.
const MAX_MONTHS: u32 = 1_200;
/// How long after a month is due to be closed it may still be open: the check of its ledger closes it.
const CLOSED_WITHIN_MS: i64 = 2 * DAY_MS;

/// A closed statement as it is stored: as it was hashed.
#[derive(Debug, Serialize, Deserialize)]
struct StatementItem {
    json: String,
    v: u32,
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
        if *month <= Month::of(now) && may_be_open(month, now) {
            let mut months = Box::pin(self.recent_months(org, (month, month), now)).await?;
            return Ok(months.pop());
        }
        let (closed, first) =
            tokio::try_join!(self.closed_statement(org, month), self.first_month(org))?;
        let is_there = first.is_some_and(|first| first <= *month) && *month <= Month::of(now);
        match closed {
            None if is_there => Box::pin(self.read_statement(org, month)).await.map(Some),
            closed => Ok(closed),
        }
    }

    /// The statements of all months, newest first: a month that is not closed is added up.
    ///
    /// # Errors
    /// As [`Store::statement`].
    pub async fn statements(&self, org: &OrgId, now: Timestamp) -> Result<Vec<Statement>, Error> {
        let last = Month::of(now);
        let first = if may_be_open(&last.previous(), now) {
            last.previous()
        } else {
            last.clone()
        };
        let (mut all, recent, begin) = tokio::try_join!(
            self.closed_statements(org),
            Box::pin(self.recent_months(org, (&first, &last), now)),
            self.first_month(org)
        )?;
        let next = all.last().map(|of| of.month.next()).or(begin);
        let mut month = next.unwrap_or(last);
        while month < first {
            all.push(Box::pin(self.read_statement(org, &month)).await?);
            month = month.next();
        }
        all.extend(recent.into_iter().filter(|of| of.month >= month));
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
        if !closed.is_empty() {
            self.note_summed_from(org, now).await?;
        }
        Ok(closed)
    }

    /// An organization from before there were sums for statements has them from the next month on.
    async fn note_summed_from(&self, org: &OrgId, now: Timestamp) -> Result<(), Error> {
        if self.balance(org).await?.summed_from.is_none() {
            let next = Month::of(now).next();
            let noted = Change::new()
                .set("summedFrom", next)
                .when_present("v")
                .when_missing("summedFrom");
            let (UpdateOutcome::New(_) | UpdateOutcome::Refused(_)) =
                self.update(&Key::balance(org), noted).await?;
        }
        Ok(())
    }

    /// Closes a month behind the one before it; a later caller gets the stored statement.
    async fn close_month(
        &self,
        org: &OrgId,
        month: &Month,
        previous: Option<&Statement>,
        now: Timestamp,
    ) -> Result<Statement, Error> {
        let draft = self.draft(org, month).await?;
        let open_holds = self.open_holds_at_end(org, month).await?;
        self.compare_with_sums(org, &draft, now).await?;
        let opening = previous.map_or(MicroCredits::ZERO, |of| of.closing_balance);
        let statement = draft.open(opening, open_holds).closed(previous, now)?;
        let item = StatementItem {
            json: serde_json::to_string(&statement).map_err(Error::internal)?,
            v: SCHEMA_VERSION,
        };
        let key = Key::statement(org, month);
        let put = Transaction::new().put(&key, &item)?;
        if put.commit(self).await?.is_yes() {
            Ok(statement)
        } else {
            let known = self.closed_statement(org, month).await?;
            known.ok_or_else(|| Error::internal("a statement was there and is not"))
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

    /// When a run was charged, for a refund of it that is booked in a later month.
    pub(crate) fn charged_earlier(
        settled: Option<&SettlementItem>,
        at: Timestamp,
    ) -> Option<Timestamp> {
        let charged = settled.and_then(|settled| Some(settled.charge.as_ref()?.made_at()))?;
        earlier_month(charged, at)
    }
}

/// True if a month need not be closed yet.
fn may_be_open(month: &Month, now: Timestamp) -> bool {
    now < month.closes_at().plus_ms(CLOSED_WITHIN_MS)
}

/// A moment, if it is in an earlier month than another one.
pub(crate) fn earlier_month(at: Timestamp, than: Timestamp) -> Option<Timestamp> {
    (Month::of(at) < Month::of(than)).then_some(at)
}

/// What a statement needs to know of an entry.
fn booked(entry: LedgerEntry) -> BookedEntry {
    BookedEntry {
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
