//! Statements: what an organization's ledger says of a month. A month that is closed never changes;
//! what comes later about its runs is booked in the month in which it comes, as a correction that
//! names the run. Closed months are a chain of hashes.

mod month;

pub use month::Month;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::audit::canonical_hash;
use crate::cost::record::{CostRecord, NONE, OTHER};
use crate::cost::report::Dimension;
use crate::ledger::TransactionType;
use crate::money::MicroCredits;
use crate::{Error, RunId, Timestamp, TransactionId};

/// Most rows of a statement; the smallest of more count together.
pub const MAX_ROWS: usize = 1_500;
/// Most purchases and most corrections that a statement lists one by one.
pub const MAX_LISTED: usize = 300;

/// Whether a statement can still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StatementStatus {
    /// It can.
    Open,
    /// It cannot.
    Closed,
}

/// What was charged to a tenant with a value of the first cost label, for a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatementRow {
    /// The tenant, or `(none)`.
    pub tenant: String,
    /// The value of the first cost label, or `(none)`.
    pub label: String,
    /// The model, or `(compute)`.
    pub model: String,
    /// What was charged.
    pub credits: MicroCredits,
}

/// A purchase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StatementPurchase)]
pub struct Purchase {
    /// The ledger entry.
    pub id: TransactionId,
    /// How much.
    pub credits: MicroCredits,
    /// When.
    pub created_at: Timestamp,
    /// An invoice, an order, a ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// What is booked in this month about a run of an earlier one; it is in the sums.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StatementCorrection)]
pub struct Correction {
    /// The ledger entry.
    pub id: TransactionId,
    /// A late deduction, or a refund.
    #[serde(rename = "type")]
    pub kind: TransactionType,
    /// The run.
    pub run_id: RunId,
    /// The month in which it ended, or was charged.
    #[schema(value_type = String)]
    pub month: Month,
    /// How much.
    pub credits: MicroCredits,
}

/// What the ledger says of a month: opening + purchases − deductions + refunds = closing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    /// Such as `2026-11`.
    #[schema(value_type = String)]
    pub month: Month,
    /// Whether it can still change.
    pub status: StatementStatus,
    /// When it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// The balance at its first moment.
    pub opening_balance: MicroCredits,
    /// Credits that were bought.
    pub purchases: MicroCredits,
    /// What runs were charged.
    pub deductions: MicroCredits,
    /// What was given back.
    pub refunds: MicroCredits,
    /// The balance at its end, or now.
    pub closing_balance: MicroCredits,
    /// What open runs reserve at its end, or now.
    pub open_holds: MicroCredits,
    /// The first cost label, by whose values rows are told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Deductions by tenant, first cost label and model; they add up to `deductions`.
    pub rows: Vec<StatementRow>,
    /// The purchases, oldest first, up to 300.
    pub purchase_entries: Vec<Purchase>,
    /// What was booked about runs of earlier months, oldest first, up to 300.
    pub corrections: Vec<Correction>,
    /// Versions of the price lists by which runs were charged.
    pub price_lists: Vec<String>,
    /// SHA-256 of the RFC 8785 form of this statement without `hash`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The hash of the month before, if that is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_hash: Option<String>,
}

/// What a statement needs to know of a ledger entry.
#[derive(Debug, Clone)]
pub struct Booked {
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

/// A statement that is added up.
#[derive(Debug)]
pub struct Draft {
    statement: Statement,
    rows: BTreeMap<(String, String, String), i64>,
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
    pub fn book(&mut self, entry: Booked) {
        let of = &mut self.statement;
        let sum = match entry.kind {
            TransactionType::Purchase => &mut of.purchases,
            TransactionType::Deduction => &mut of.deductions,
            TransactionType::Refund => &mut of.refunds,
        };
        *sum = sum.plus(entry.amount);
        self.price_lists.extend(entry.price_list);
        if entry.kind == TransactionType::Purchase && of.purchase_entries.len() < MAX_LISTED {
            of.purchase_entries.push(Purchase {
                id: entry.id,
                credits: entry.amount,
                created_at: entry.at,
                reference: entry.reference,
            });
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

    /// Adds what one of the month's deductions was for.
    pub fn attribute(&mut self, record: &CostRecord) {
        let label = self.statement.label.clone().map(Dimension::Label);
        let label = label.and_then(|label| label.value_of(record));
        let tenant = Dimension::Tenant.value_of(record);
        let or_none = |value: Option<String>| value.unwrap_or_else(|| NONE.to_owned());
        let (tenant, label) = (or_none(tenant), or_none(label));
        for (model, of) in record.by_model() {
            if of.credits_micro != 0 {
                let key = (tenant.clone(), label.clone(), model.to_owned());
                *self.rows.entry(key).or_default() += of.credits_micro;
            }
        }
    }

    /// The statement of a month that is open.
    #[must_use]
    pub fn open(self, opening: MicroCredits, open_holds: MicroCredits) -> Statement {
        let rows = self.rows();
        let mut of = self.statement;
        of.rows = rows;
        of.price_lists = self.price_lists.into_iter().collect();
        of.opening_balance = opening;
        of.closing_balance = opening
            .plus(of.purchases)
            .minus(of.deductions)
            .plus(of.refunds);
        of.open_holds = open_holds;
        of
    }

    /// The largest rows in the order of their names; the others, and what has no record, in one each.
    fn rows(&self) -> Vec<StatementRow> {
        let mut all: Vec<_> = self.rows.clone().into_iter().collect();
        all.sort_by_key(|(_, micro)| std::cmp::Reverse(*micro));
        let others = all.split_off(all.len().min(MAX_ROWS));
        let others: i64 = others.iter().map(|(_, micro)| micro).sum();
        all.sort();
        let told: i64 = all.iter().map(|(_, micro)| micro).sum::<i64>() + others;
        let untold = self.statement.deductions.micro() - told;
        let row = |((tenant, label, model), micro)| StatementRow {
            tenant,
            label,
            model,
            credits: MicroCredits::from_micro(micro),
        };
        let named = |name: &str| (name.to_owned(), name.to_owned(), name.to_owned());
        let rest = [(named(OTHER), others), (named(NONE), untold)];
        let rest = rest.into_iter().filter(|(_, micro)| *micro != 0);
        all.into_iter().chain(rest).map(row).collect()
    }
}

impl Statement {
    /// The same, closed behind the month before it.
    ///
    /// # Errors
    /// Internal, if it does not write.
    pub fn closed(self, previous: Option<&Statement>, now: Timestamp) -> Result<Statement, Error> {
        let closed = Statement {
            status: StatementStatus::Closed,
            closed_at: Some(now),
            ..self
        };
        closed.chained(previous)
    }

    /// The same with its hash.
    ///
    /// # Errors
    /// Internal, if it does not write.
    pub fn chained(mut self, previous: Option<&Statement>) -> Result<Statement, Error> {
        self.previous_hash = previous.and_then(|of| of.hash.clone());
        self.hash = None;
        self.hash = Some(canonical_hash(&self)?);
        Ok(self)
    }

    /// What is wrong with it behind the month before it, if anything, for people.
    ///
    /// # Errors
    /// Internal, if it does not write.
    pub fn fault(&self, previous: Option<&Statement>) -> Result<Option<String>, Error> {
        let again = self.clone().chained(previous)?;
        let sum = self.opening_balance.plus(self.purchases);
        let sum = sum.minus(self.deductions).plus(self.refunds);
        let rows = self.rows.iter().map(|row| row.credits);
        let rows = rows.fold(MicroCredits::ZERO, MicroCredits::plus);
        let opening = previous.map_or(self.opening_balance, |of| of.closing_balance);
        Ok(match () {
            () if previous.is_some_and(|of| of.month.next() != self.month) => {
                Some("the month before it is missing".to_owned())
            }
            () if again.previous_hash != self.previous_hash => {
                Some("it does not follow the month before it".to_owned())
            }
            () if again.hash != self.hash => Some("its content is not what was hashed".to_owned()),
            () if opening != self.opening_balance => {
                Some("it does not open with what the month before it closed with".to_owned())
            }
            () if sum != self.closing_balance => Some("its sums do not add up".to_owned()),
            () if rows != self.deductions => Some("its rows do not add up".to_owned()),
            () => None,
        })
    }
}

#[cfg(test)]
mod tests;
