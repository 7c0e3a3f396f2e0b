//! Credits as the API shows them.

use awo_domain::ledger::TransactionType;
use awo_domain::money::MicroCredits;
use awo_domain::{RunId, Timestamp, TransactionId};
use awo_store::credits::{BalanceItem, LedgerEntry};
use serde::Serialize;
use utoipa::ToSchema;

/// A credit transaction.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransactionShape<'a> {
    id: &'a TransactionId,
    #[serde(rename = "type")]
    kind: TransactionType,
    amount: MicroCredits,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_user_id: Option<&'a str>,
    created_at: Timestamp,
}

impl<'a> From<&'a LedgerEntry> for TransactionShape<'a> {
    fn from(entry: &'a LedgerEntry) -> TransactionShape<'a> {
        TransactionShape {
            id: &entry.id,
            kind: entry.kind,
            amount: MicroCredits::from_micro(entry.amount_micro),
            run_id: entry.run_id.as_ref(),
            tenant_id: entry.tenant_id.as_deref(),
            tenant_user_id: entry.tenant_user_id.as_deref(),
            created_at: entry.created_at,
        }
    }
}

/// A credit balance.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BalanceShape {
    balance: MicroCredits,
    reserved: MicroCredits,
    available: MicroCredits,
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
