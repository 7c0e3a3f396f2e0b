//! Statements of months that need not be closed yet, from sums. All that they need is read in parallel
//! and used if it is of one moment, as a report's is, and if it agrees with the balance: a statement then
//! agrees with the ledger to the micro-credit. Otherwise it is read again in sequence.

use std::collections::BTreeMap;

use awo_domain::cost::record::CostRecord;
use awo_domain::cost::report::Dimension;
use awo_domain::cost::sums::{Cell, LabelValues, SumsOf};
use awo_domain::money::MicroCredits;
use awo_domain::statement::{BookedEntry, Draft, MAX_LISTED, Month, Statement};
use awo_domain::{Error, OrgId, Timestamp, TransactionId};
use futures::future::try_join_all;

use super::StatementItem;
use super::listed::{List, MonthPurchases};
use crate::Store;
use crate::costs::{Head, SumsItem};
use crate::engine::key::{cost_sums, new_costs, statements};
use crate::engine::list::{Page, Slice};
use crate::engine::table::conflict_pause;
use crate::ledger::credits::BalanceItem;

/// Most records that are in no sums yet and are read: of more, the statement is of the moment of the
/// last one.
const MAX_NEW: u32 = 5_000;
/// How often a statement is read that met additions to sums, or bookings.
const TRIES: u32 = 6;

/// Where costs stand that are in no sums yet.
struct Newest {
    head: Head,
    values: LabelValues,
    records: Page<CostRecord>,
}

/// The stored sums, and the rest.
struct StoredSums {
    label: Option<String>,
    balance: BalanceItem,
    everything: Vec<SumsItem>,
    tenants: Vec<SumsItem>,
    labelled: Vec<SumsItem>,
    purchased: Vec<MonthPurchases>,
    /// Of each month, its purchases and its corrections.
    lists: Vec<[Vec<BookedEntry>; 2]>,
    /// The last that are closed.
    closed: Vec<Statement>,
    /// The month of the first entry.
    begin: Option<Month>,
}

/// All that statements of some months are made of.
struct Reading<'a> {
    first: &'a Month,
    last: &'a Month,
    newest: Newest,
    summed: StoredSums,
}

/// The months from the first to the last.
fn months(first: &Month, last: &Month) -> impl Iterator<Item = Month> {
    let last = last.clone();
    std::iter::successors(Some(first.clone()), |month| Some(month.next()))
        .take_while(move |month| *month <= last)
}

impl Reading<'_> {
    /// True if no sums are younger than the head, and no purchase is listed that is not counted.
    fn is_whole(&self) -> bool {
        let of = &self.summed;
        let mut sums = [&of.everything, &of.tenants, &of.labelled].into_iter();
        let is_of = |sums: &SumsItem| sums.number <= self.newest.head.number;
        let months = months(self.first, self.last).zip(&of.lists);
        let mut months = months.filter(|(month, _)| self.is_summed(month));
        sums.all(|sums| sums.iter().all(is_of))
            && months.all(|(month, [purchases, _])| {
                let counted = of.purchased.iter().find(|of| of.month == month);
                let counted = counted.map_or(0, |of| of.entries);
                usize::try_from(counted)
                    .unwrap_or(usize::MAX)
                    .min(MAX_LISTED)
                    == purchases.len()
            })
    }

    /// True if sums have all of a month.
    fn is_summed(&self, month: &Month) -> bool {
        let from = self.summed.balance.summed_from.as_ref();
        from.is_some_and(|from| from <= month)
    }

    /// Up to when new records are counted, if there are more.
    fn as_of(&self) -> Option<Timestamp> {
        let last = self.newest.records.items.last();
        last.filter(|_| self.newest.records.has_more)
            .map(|record| record.at)
    }

    fn closed(&self, month: &Month) -> Option<&Statement> {
        self.summed.closed.iter().find(|of| of.month == *month)
    }

    /// The months and the one before them, by sums and new records.
    fn drafts(&self) -> BTreeMap<Month, Draft> {
        let of = &self.summed;
        let draft = |month: Month| {
            let draft = Draft::new(month.clone(), of.label.clone());
            (month, draft)
        };
        let mut drafts: BTreeMap<Month, Draft> = months(&self.first.previous(), self.last)
            .map(draft)
            .collect();
        type Add = fn(&mut Draft, &awo_domain::cost::sums::Sums);
        let kinds: [(&Vec<SumsItem>, Add); 3] = [
            (&of.everything, Draft::everything),
            (&of.tenants, Draft::tenant),
            (&of.labelled, Draft::labelled),
        ];
        for (all, add) in kinds {
            for item in all {
                let month = Month::parse(&item.sums.period).ok();
                if let Some(draft) = month.and_then(|month| drafts.get_mut(&month)) {
                    add(draft, &item.sums);
                }
            }
        }
        let mut values = self.newest.values.clone();
        for record in &self.newest.records.items {
            if let Some(draft) = drafts.get_mut(&Month::of(record.at)) {
                draft.charge(record, &mut values);
            }
        }
        for of in &of.purchased {
            if let Some(draft) = drafts.get_mut(&of.month) {
                draft.purchase(MicroCredits::from_micro(of.amount_micro));
            }
        }
        for (month, lists) in months(self.first, self.last).zip(&of.lists) {
            for booked in lists.iter().flatten() {
                if let Some(draft) = drafts.get_mut(&month) {
                    draft.list(booked.clone());
                }
            }
        }
        drafts
    }

    /// What a month opens with, if that can be known from what was read.
    fn opening(&self, month: &Month, drafts: &BTreeMap<Month, Draft>) -> Option<MicroCredits> {
        let before = month.previous();
        if let Some(closed) = self.closed(&before) {
            return Some(closed.closing_balance);
        }
        let begin = self.summed.begin.as_ref()?;
        if begin >= month {
            return Some(MicroCredits::ZERO);
        }
        let net = drafts
            .get(&before)
            .filter(|_| self.is_summed(&before))?
            .net();
        let opening = match self.closed(&before.previous()) {
            Some(closed) => closed.closing_balance,
            None if *begin == before => MicroCredits::ZERO,
            None => return None,
        };
        Some(opening.plus(net))
    }

    /// The statements of the months that are there; none where sums do not suffice.
    fn statements(&self) -> Result<Vec<(Month, Option<Statement>)>, Error> {
        let (drafts, mut all) = (self.drafts(), Vec::new());
        let begin = self.summed.begin.as_ref();
        for month in months(self.first, self.last).filter(|of| begin.is_some_and(|at| at <= of)) {
            let closed = self.closed(&month).cloned();
            let opening = (self.is_summed(&month)).then(|| self.opening(&month, &drafts));
            let draft = drafts.get(&month).cloned().zip(opening.flatten());
            let open = draft.map(|(draft, opening)| {
                let open_holds = MicroCredits::from_micro(self.summed.balance.reserved);
                let open = Statement {
                    as_of: self.as_of().filter(|at| *at < month.end()),
                    ..draft.open(opening, open_holds)
                };
                open.chained(self.closed(&month.previous()))
            });
            let statement = match closed {
                Some(closed) => Some(closed),
                None => open.transpose()?,
            };
            all.push((month, statement));
        }
        Ok(all)
    }

    /// True if the present month closes with the balance, or has no sums.
    fn agrees(&self, all: &[(Month, Option<Statement>)], now: Timestamp) -> bool {
        let last = all.last().and_then(|(_, of)| of.as_ref());
        let last = last.filter(|of| of.month == Month::of(now) && of.as_of.is_none());
        last.is_none_or(|of| of.closing_balance.micro() == self.summed.balance.balance)
    }
}

impl Store {
    /// The statements of months that need not be closed yet, oldest first, as far as there are entries.
    pub(super) async fn recent_months(
        &self,
        org: &OrgId,
        of: (&Month, &Month),
        now: Timestamp,
    ) -> Result<Vec<Statement>, Error> {
        let mut statements = Vec::new();
        for (month, statement) in Box::pin(self.summed_months(org, of, now)).await? {
            statements.push(match statement {
                Some(statement) => statement,
                None => Box::pin(self.read_statement(org, &month)).await?,
            });
        }
        Ok(statements)
    }

    /// The same; none where sums do not suffice, or differ from the balance while nothing is booked.
    async fn summed_months(
        &self,
        org: &OrgId,
        of: (&Month, &Month),
        now: Timestamp,
    ) -> Result<Vec<(Month, Option<Statement>)>, Error> {
        let mut seen = None;
        for attempt in 0..TRIES {
            let (newest, summed) = match attempt {
                0 => tokio::try_join!(self.newest_costs(org, of), self.summed_costs(org, of))?,
                // In this order a record is missed in no place; one that is met twice is in younger sums.
                _ => {
                    let newest = self.newest_costs_in_order(org, of).await?;
                    (newest, self.summed_costs(org, of).await?)
                }
            };
            let is_first = attempt == 0;
            let is_quiet = newest.head.is_quiet(now);
            let (first, last) = of;
            let reading = Reading {
                first,
                last,
                newest,
                summed,
            };
            if reading.is_whole() && (is_quiet || !is_first) {
                let all = reading.statements()?;
                let changes = reading.summed.balance.changes;
                match reading.agrees(&all, now) {
                    false if seen == Some(changes) => {
                        log_difference(org, last);
                        return Ok(all.into_iter().map(|(month, _)| (month, None)).collect());
                    }
                    // Credits are booked all the time: what is reserved is of a moment later.
                    false if attempt + 1 < TRIES => seen = Some(changes),
                    _ => return Ok(all),
                }
            }
            conflict_pause(attempt).await;
        }
        Err(Error::contended(
            "statement: costs were added to sums all the time",
        ))
    }

    /// Logs it if sums differ from the statement that closes a month.
    pub(super) async fn compare_with_sums(
        &self,
        org: &OrgId,
        draft: &Draft,
        now: Timestamp,
    ) -> Result<(), Error> {
        let month = draft.month();
        let all = Box::pin(self.summed_months(org, (month, month), now)).await?;
        let summed = all.into_iter().find_map(|(_, of)| of);
        if summed.is_some_and(|of| of.as_of.is_none() && !draft.is_as(&of)) {
            log_difference(org, month);
        }
        Ok(())
    }

    /// Read at once: of one moment if nothing is added meanwhile.
    async fn newest_costs(&self, org: &OrgId, of: (&Month, &Month)) -> Result<Newest, Error> {
        let ((head, values), records) =
            tokio::try_join!(self.head_and_values(org), self.new_costs(org, of))?;
        Ok(Newest {
            head,
            values,
            records,
        })
    }

    async fn newest_costs_in_order(
        &self,
        org: &OrgId,
        of: (&Month, &Month),
    ) -> Result<Newest, Error> {
        let (head, values) = self.head_and_values(org).await?;
        let records = self.new_costs(org, of).await?;
        Ok(Newest {
            head,
            values,
            records,
        })
    }

    /// Records of the months and the one before them that are in no sums yet.
    async fn new_costs(
        &self,
        org: &OrgId,
        (first, last): (&Month, &Month),
    ) -> Result<Page<CostRecord>, Error> {
        let low = TransactionId::new(first.previous().start(), 0);
        let high = TransactionId::new(last.end().plus_ms(-1), u128::MAX);
        let slice = Slice::of_partition(new_costs(org)).limit(MAX_NEW);
        self.slice(slice.between(low.as_str(), high.as_str())).await
    }

    async fn summed_costs(
        &self,
        org: &OrgId,
        (first, last): (&Month, &Month),
    ) -> Result<StoredSums, Error> {
        let before = first.previous();
        let earliest = before.previous();
        let tenants = SumsOf::Dimension(Dimension::Tenant);
        let lists = months(first, last).map(|month| async move {
            let listed = tokio::try_join!(
                self.listed(org, List::Purchases, &month),
                self.listed(org, List::Corrections, &month)
            );
            listed.map(<[Vec<BookedEntry>; 2]>::from)
        });
        let (policy, balance, everything, tenants, labelled, purchased, lists, closed, begin) = tokio::try_join!(
            self.cost_policy(org),
            self.balance(org),
            self.sums_of_months(org, &SumsOf::All, (&before, last)),
            self.sums_of_months(org, &tenants, (first, last)),
            self.sums_of_months(org, &SumsOf::Statement, (first, last)),
            self.purchased(org, (&before, last)),
            try_join_all(lists),
            self.last_closed_of(org, (&earliest, last)),
            self.first_month(org),
        )?;
        Ok(StoredSums {
            label: policy.first_label(),
            balance,
            everything,
            tenants,
            labelled,
            purchased,
            lists,
            closed,
            begin,
        })
    }

    async fn sums_of_months(
        &self,
        org: &OrgId,
        of: &SumsOf,
        (first, last): (&Month, &Month),
    ) -> Result<Vec<SumsItem>, Error> {
        let prefix = Cell::prefix(of, false);
        // Of the last one, everything that goes on with `#`.
        let (low, high) = (format!("{prefix}{first}#"), format!("{prefix}{last}$"));
        let mut all = Vec::new();
        let slice = Slice::of_partition(cost_sums(org)).between(low, high);
        self.each(&slice, |item| all.push(item)).await?;
        Ok(all)
    }

    /// The last two of these months that are closed: a month opens with what the one before it, or the
    /// one before that, closed with.
    async fn last_closed_of(
        &self,
        org: &OrgId,
        (first, last): (&Month, &Month),
    ) -> Result<Vec<Statement>, Error> {
        let slice = Slice::of_partition(statements(org))
            .between(first.to_string(), last.to_string())
            .newest_first()
            .limit(2);
        let items = self.slice::<StatementItem>(slice).await?.items;
        items.iter().map(StatementItem::read).collect()
    }
}

fn log_difference(org: &OrgId, month: &Month) {
    tracing::error!(event = "statement_differs", %org, %month, "sums of costs differ from the ledger's entries of a month");
}
