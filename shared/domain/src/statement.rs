//! Statements: the summary of an organization's ledger for a month. A month that is closed never changes;
//! what comes later about its runs is booked in the month in which it comes, as a correction that
//! names the run. Closed months are a chain of hashes.

mod draft;
mod month;

pub use draft::{BookedEntry, Draft};
pub use month::Month;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::audit::canonical_hash;
use crate::ledger::TransactionType;
use crate::money::{MicroCredits, computed};
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

/// The charge to a tenant with a value of the first cost label, for a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatementRow {
    /// The tenant, or `(none)`.
    pub tenant: String,
    /// The value of the first cost label, or `(none)`.
    pub label: String,
    /// The model, or `(compute)`.
    pub model: String,
    /// The charge.
    #[serde(deserialize_with = "computed")]
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
    #[serde(deserialize_with = "computed")]
    pub credits: MicroCredits,
    /// When.
    pub created_at: Timestamp,
    /// An invoice, an order, a ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// The amounts booked in this month for runs of earlier ones; the sums include them.
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
    #[serde(deserialize_with = "computed")]
    pub credits: MicroCredits,
}

/// The ledger of a month: opening + purchases − deductions + refunds = closing.
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
    /// Of an open month: deductions and refunds up to this moment are counted. Absent if all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Timestamp>,
    /// The balance at its first moment.
    #[serde(deserialize_with = "computed")]
    pub opening_balance: MicroCredits,
    /// Credits that were bought.
    #[serde(deserialize_with = "computed")]
    pub purchases: MicroCredits,
    /// The charges of runs.
    #[serde(deserialize_with = "computed")]
    pub deductions: MicroCredits,
    /// The refunds.
    #[serde(deserialize_with = "computed")]
    pub refunds: MicroCredits,
    /// The balance at its end, or now.
    #[serde(deserialize_with = "computed")]
    pub closing_balance: MicroCredits,
    /// The reserve of open runs: at its end, if it is closed, else now.
    #[serde(deserialize_with = "computed")]
    pub open_holds: MicroCredits,
    /// The first cost label, by whose values rows are separate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Deductions by tenant, first cost label and model; they add up to `deductions`.
    pub rows: Vec<StatementRow>,
    /// The purchases, oldest first, up to 300.
    pub purchase_entries: Vec<Purchase>,
    /// Bookings about runs of earlier months, oldest first, up to 300.
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
