//! What statements need of the ledger beside costs, written with the entry: purchases and corrections,
//! which they list one by one, and the purchases of a month in one sum. A charge that is no correction
//! writes nothing of it.

use awo_domain::OrgId;
use awo_domain::ledger::TransactionType;
use awo_domain::statement::{MAX_LISTED, Month};
use awo_domain::{Error, TransactionId};
use serde::Deserialize;

use super::booked;
use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::{Key, listed_entries, purchased};
use crate::engine::list::Slice;
use crate::engine::transaction::Transaction;
use crate::ledger::credits::LedgerEntry;

/// The purchases of a month.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MonthPurchases {
    #[serde(rename = "sk")]
    pub month: Month,
    pub amount_micro: i64,
    pub entries: u64,
}

/// A list of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum List {
    Purchases,
    Corrections,
}

impl List {
    /// The list that an entry stands in, if any.
    fn of(entry: &LedgerEntry) -> Option<List> {
        match entry.kind {
            TransactionType::Purchase => Some(List::Purchases),
            _ if entry.run_id.is_some() && entry.about.is_some() => Some(List::Corrections),
            _ => None,
        }
    }

    pub fn prefix(self, month: &Month) -> String {
        match self {
            List::Purchases => format!("{month}#purchase#"),
            List::Corrections => format!("{month}#correction#"),
        }
    }
}

impl Transaction {
    /// Adds an entry to the ledger. The balance must change in the same transaction.
    pub(crate) fn book(self, org: &OrgId, entry: &LedgerEntry) -> Result<Transaction, Error> {
        let month = Month::of(entry.created_at);
        let transaction = self.put(&Key::ledger_entry(org, &entry.id), entry)?;
        let transaction = match List::of(entry) {
            Some(list) => {
                let key = Key::listed_entry(org, list, &month, &entry.id);
                transaction.put(&key, entry)?
            }
            None => transaction,
        };
        if entry.kind != TransactionType::Purchase {
            return Ok(transaction);
        }
        let more = Change::new()
            .add("amountMicro", entry.amount_micro)
            .add("entries", 1)
            .set("v", SCHEMA_VERSION);
        Ok(transaction.update(&Key::purchased(org, &month), more))
    }
}

impl Store {
    /// The first entries of a month's list.
    pub(super) async fn listed(
        &self,
        org: &OrgId,
        list: List,
        month: &Month,
    ) -> Result<Vec<awo_domain::statement::BookedEntry>, Error> {
        let prefix = list.prefix(month);
        let last = TransactionId::new(month.end(), u128::MAX);
        let slice = Slice::of_partition(listed_entries(org))
            .between(prefix.clone(), format!("{prefix}{last}"))
            .limit(u32::try_from(MAX_LISTED).unwrap_or(u32::MAX));
        let entries = self.slice::<LedgerEntry>(slice).await?.items;
        Ok(entries.into_iter().map(booked).collect())
    }

    /// The purchases of some months.
    pub(super) async fn purchased(
        &self,
        org: &OrgId,
        (first, last): (&Month, &Month),
    ) -> Result<Vec<MonthPurchases>, Error> {
        let slice = Slice::of_partition(purchased(org));
        let mut all = Vec::new();
        let slice = slice.between(first.to_string(), last.to_string());
        self.each(&slice, |of| all.push(of)).await?;
        Ok(all)
    }
}
