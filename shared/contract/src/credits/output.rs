//! Credits as the API shows them.

use awo_domain::ledger::{Breakdown, Purpose, TransactionType};
use awo_domain::money::MicroCredits;
use awo_domain::{RunId, Timestamp, TransactionId, VerificationId, WorkOrderId};
use awo_store::ledger::credits::{BalanceItem, LedgerEntry};
use serde::Serialize;
use utoipa::ToSchema;

/// A credit transaction.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CreditTransaction)]
pub struct TransactionShape<'a> {
    /// The transaction's id.
    id: &'a TransactionId,
    /// Its type, which also gives the direction.
    #[serde(rename = "type")]
    kind: TransactionType,
    /// The amount in credits; always positive.
    amount: MicroCredits,
    /// Of a deduction or a refund: the work that it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<Purpose>,
    /// The run that was charged or refunded, or whose workspace was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a RunId>,
    /// The manual verification that was charged or refunded.
    #[serde(skip_serializing_if = "Option::is_none")]
    verification_id: Option<&'a VerificationId>,
    /// That run's work order.
    #[serde(skip_serializing_if = "Option::is_none")]
    work_order_id: Option<&'a WorkOrderId>,
    /// The tenant of that work order.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_id: Option<&'a str>,
    /// The tenant's user, if the work order names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_user_id: Option<&'a str>,
    /// Of a deduction: model + compute − capped = amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    breakdown: Option<Breakdown>,
    /// Of a deduction: the version of the price list that the run was priced by.
    #[serde(skip_serializing_if = "Option::is_none")]
    price_list: Option<&'a str>,
    /// Of a purchase or a refund: its author.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
    /// Of a purchase or a refund: why, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    /// Of a purchase or a refund: an invoice, an order, a ticket.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
    /// When it was booked.
    created_at: Timestamp,
}

impl<'a> From<&'a LedgerEntry> for TransactionShape<'a> {
    fn from(entry: &'a LedgerEntry) -> TransactionShape<'a> {
        let amount = MicroCredits::from_micro(entry.amount_micro);
        TransactionShape {
            id: &entry.id,
            kind: entry.kind,
            amount,
            purpose: entry.purpose(),
            run_id: entry.run_id.as_ref(),
            verification_id: entry.verification_id.as_ref(),
            work_order_id: entry.work_order_id.as_ref(),
            tenant_id: entry.tenant_id.as_deref(),
            tenant_user_id: entry.tenant_user_id.as_deref(),
            breakdown: entry.parts.known().map(|parts| parts.breakdown(amount)),
            price_list: entry.price_list.as_deref(),
            actor: entry.booking.actor.as_deref(),
            note: entry.booking.note.as_deref(),
            reference: entry.booking.reference.as_deref(),
            created_at: entry.created_at,
        }
    }
}

/// A credit balance.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CreditBalance)]
pub struct BalanceShape {
    /// All credits: purchases and refunds less deductions.
    balance: MicroCredits,
    /// The holds of unsettled runs.
    reserved: MicroCredits,
    /// The amount that new runs can reserve: `balance` less `reserved`.
    available: MicroCredits,
    /// When the balance changed last.
    updated_at: Timestamp,
}

impl From<&BalanceItem> for BalanceShape {
    fn from(item: &BalanceItem) -> BalanceShape {
        BalanceShape {
            balance: MicroCredits::from_micro(item.balance),
            reserved: MicroCredits::from_micro(item.reserved),
            available: MicroCredits::from_micro(item.available),
            updated_at: item.updated_at,
        }
    }
}
