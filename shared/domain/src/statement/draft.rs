//! Statements as they are added up: of a closed month from each entry and record, of an open one from
//! sums and what is not in them yet. Both give the same statement.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Correction, MAX_LISTED, MAX_ROWS, Month, Purchase, Statement, StatementRow, StatementStatus,
};
use crate::cost::record::{CostRecord, NONE, OTHER};
use crate::cost::report::Dimension;
use crate::cost::sums::{LabelOfTenant, LabelValues, Sums};
use crate::ledger::TransactionType;
use crate::money::MicroCredits;
use crate::usage::OTHER_MODELS;
use crate::{RunId, Timestamp, TransactionId};

/// The part of a ledger entry that a statement needs.
#[derive(Debug, Clone)]
pub struct BookedEntry {
    /// The entry.
    pub id: TransactionId,
    /// Its type.
    pub kind: TransactionType,
    /// How much.
    pub amount: MicroCredits,
    /// When.
    pub at: Timestamp,
    /// The run.
    pub run_id: Option<RunId>,
    /// When the run ended or was charged, if that was in an earlier month.
    pub about: Option<Timestamp>,
    /// The price list of a deduction.
    pub price_list: Option<String>,
    /// The reference of a purchase.
    pub reference: Option<String>,
}

/// Tenant, value of the first cost label, model.
type RowKey = (String, String, String);

/// A statement that is added up.
#[derive(Debug, Clone)]
pub struct Draft {
    statement: Statement,
    rows: BTreeMap<RowKey, i64>,
    price_lists: BTreeSet<String>,
}

impl Draft {
    /// Nothing yet.
    #[must_use]
    pub fn new(month: Month, label: Option<String>) -> Draft {
        let zero = MicroCredits::ZERO;
        Draft {
            statement: Statement {
                month,
                status: StatementStatus::Open,
                closed_at: None,
                as_of: None,
                opening_balance: zero,
                purchases: zero,
                deductions: zero,
                refunds: zero,
                closing_balance: zero,
                open_holds: zero,
                label,
                rows: Vec::new(),
                purchase_entries: Vec::new(),
                corrections: Vec::new(),
                price_lists: Vec::new(),
                hash: None,
                previous_hash: None,
            },
            rows: BTreeMap::new(),
            price_lists: BTreeSet::new(),
        }
    }

    /// Adds an entry of the month.
    pub fn book(&mut self, entry: BookedEntry) {
        let of = &mut self.statement;
        let sum = match entry.kind {
            TransactionType::Purchase => &mut of.purchases,
            TransactionType::Deduction => &mut of.deductions,
            TransactionType::Refund => &mut of.refunds,
        };
        *sum = sum.plus(entry.amount);
        self.price_lists.extend(entry.price_list.clone());
        self.list(entry);
    }

    /// Lists an entry, if it is a purchase or a correction, and is among the first of them.
    pub fn list(&mut self, entry: BookedEntry) {
        let of = &mut self.statement;
        if entry.kind == TransactionType::Purchase {
            if of.purchase_entries.len() < MAX_LISTED {
                of.purchase_entries.push(Purchase {
                    id: entry.id,
                    credits: entry.amount,
                    created_at: entry.at,
                    reference: entry.reference,
                });
            }
        } else if let Some((run_id, about)) = entry.run_id.zip(entry.about)
            && of.corrections.len() < MAX_LISTED
        {
            of.corrections.push(Correction {
                id: entry.id,
                kind: entry.kind,
                run_id,
                month: Month::of(about),
                credits: entry.amount,
            });
        }
    }

    /// Adds purchases that are listed apart.
    pub fn purchase(&mut self, amount: MicroCredits) {
        self.statement.purchases = self.statement.purchases.plus(amount);
    }

    /// Adds what one of the month's deductions was for.
    pub fn attribute(&mut self, record: &CostRecord, values: &mut LabelValues) {
        let label = self.statement.label.as_deref();
        let value = record.attribution.as_ref().zip(label);
        let value = value.and_then(|(of, label)| Some((label, of.labels.get(label)?.clone())));
        let value = value.map(|(label, value)| values.counted(label, value));
        let tenant = Dimension::Tenant.value_of(record);
        for (model, of) in record.by_model() {
            let of_model = (tenant.as_deref(), value.as_deref(), model);
            self.add(of_model, of.credits_micro);
        }
    }

    /// Adds a record that is in no sums yet.
    pub fn charge(&mut self, record: &CostRecord, values: &mut LabelValues) {
        self.total(&Sums {
            total: record.total(),
            price_lists: record.price_list.iter().cloned().collect(),
            ..Sums::default()
        });
        self.attribute(record, values);
    }

    /// Adds the month's sums of everything. It is in the row without a tenant until [`Draft::tenant`]
    /// moves it out.
    pub fn everything(&mut self, sums: &Sums) {
        self.total(sums);
        for (model, of) in &sums.models {
            self.add((None, None, model), of.credits_micro);
        }
    }

    /// Moves the month's sums of a tenant into its rows without a label.
    pub fn tenant(&mut self, sums: &Sums) {
        for (model, of) in &sums.models {
            self.add((None, None, model), -of.credits_micro);
            self.add((sums.value.as_deref(), None, model), of.credits_micro);
        }
    }

    /// Moves the month's sums of a value of the label and a tenant into its row.
    pub fn labelled(&mut self, sums: &Sums) {
        let of = LabelOfTenant::of(sums);
        let Some(of) = of.filter(|of| Some(&of.label) == self.statement.label.as_ref()) else {
            return;
        };
        let tenant = of.tenant.as_deref();
        for (model, measures) in &sums.models {
            self.add((tenant, None, model), -measures.credits_micro);
            self.add((tenant, Some(&of.value), model), measures.credits_micro);
        }
    }

    fn total(&mut self, sums: &Sums) {
        let of = &mut self.statement;
        let micro = MicroCredits::from_micro;
        of.deductions = of.deductions.plus(micro(sums.total.credits_micro));
        of.refunds = of.refunds.plus(micro(sums.total.refunds_micro));
        self.price_lists.extend(sums.price_lists.iter().cloned());
    }

    fn add(&mut self, (tenant, value, model): (Option<&str>, Option<&str>, &str), micro: i64) {
        let or_none = |value: Option<&str>| value.unwrap_or(NONE).to_owned();
        let key = (or_none(tenant), or_none(value), model.to_owned());
        *self.rows.entry(key).or_default() += micro;
    }

    /// Its month.
    #[must_use]
    pub fn month(&self) -> &Month {
        &self.statement.month
    }

    /// True if a statement has the same amounts for the month, whatever its opening balance.
    #[must_use]
    pub fn is_as(&self, other: &Statement) -> bool {
        let own = self.clone().open(other.opening_balance, other.open_holds);
        let other = Statement {
            hash: None,
            previous_hash: None,
            ..other.clone()
        };
        own == other
    }

    /// The sum of its entries.
    #[must_use]
    pub fn net(&self) -> MicroCredits {
        let of = &self.statement;
        of.purchases.minus(of.deductions).plus(of.refunds)
    }

    /// The statement of a month that is open.
    #[must_use]
    pub fn open(self, opening: MicroCredits, open_holds: MicroCredits) -> Statement {
        let (rows, closing) = (self.rows(), opening.plus(self.net()));
        let mut of = self.statement;
        of.rows = rows;
        of.price_lists = self.price_lists.into_iter().collect();
        of.opening_balance = opening;
        of.closing_balance = closing;
        of.open_holds = open_holds;
        of
    }

    /// The largest rows in the order of their names; the others, and what has no record, in one each.
    fn rows(&self) -> Vec<StatementRow> {
        let mut all: Vec<_> = self.whole_rows().into_iter().collect();
        all.sort_by_key(|(_, micro)| std::cmp::Reverse(*micro));
        let others = all.split_off(all.len().min(MAX_ROWS));
        let others: i64 = others.iter().map(|(_, micro)| micro).sum();
        all.sort();
        let in_rows: i64 = all.iter().map(|(_, micro)| micro).sum::<i64>() + others;
        let remainder = self.statement.deductions.micro() - in_rows;
        let row = |((tenant, label, model), micro)| StatementRow {
            tenant,
            label,
            model,
            credits: MicroCredits::from_micro(micro),
        };
        let named = |name: &str| (name.to_owned(), name.to_owned(), name.to_owned());
        let rest = [(named(OTHER), others), (named(NONE), remainder)];
        let rest = rest.into_iter().filter(|(_, micro)| *micro != 0);
        all.into_iter().chain(rest).map(row).collect()
    }

    /// Rows with an amount. Sums name a hundred models each, so those of everything may name others
    /// than those of its tenants: what is left of both is then of no model.
    fn whole_rows(&self) -> BTreeMap<RowKey, i64> {
        let there = self.rows.iter().filter(|(_, micro)| **micro != 0);
        let negative = there.clone().filter(|(_, micro)| **micro < 0);
        let negative = negative.map(|((tenant, value, _), _)| (tenant, value));
        let apart: BTreeSet<(&String, &String)> = negative.collect();
        let mut whole: BTreeMap<RowKey, i64> = BTreeMap::new();
        for ((tenant, value, model), micro) in there {
            let model = if apart.contains(&(tenant, value)) {
                OTHER_MODELS
            } else {
                model
            };
            let key = (tenant.clone(), value.clone(), model.to_owned());
            *whole.entry(key).or_default() += micro;
        }
        whole.retain(|_, micro| *micro != 0);
        whole
    }
}
