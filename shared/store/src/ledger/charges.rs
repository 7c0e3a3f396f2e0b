//! Charges in the order of time: what was settled, refunded and bought, page by page, each once.

use std::collections::{BTreeMap, BTreeSet};

use awo_domain::cost::record::CostRecord;
use awo_domain::cost::report::month;
use awo_domain::ledger::TransactionType;
use awo_domain::span::Span;
use awo_domain::{Error, OrgId, Timestamp, TransactionId};

use crate::Store;
use crate::engine::key::{Key, Partition, costs, ledger_entries, new_costs};
use crate::engine::list::Slice;
use crate::ledger::credits::{LedgerEntry, SettlementItem};

/// Most charges of a page from each partition.
const MAX_PAGE: u32 = 1_000;
/// Follows an id and comes before each later one: ids have one length.
const AFTER: &str = "~";

/// One of them.
#[derive(Debug, Clone)]
pub enum ChargeEntry {
    /// A settlement or a refund; true if it corrects a charge of an earlier month.
    Usage(CostRecord, bool),
    /// A purchase.
    Purchase(LedgerEntry),
}

/// A page of charges.
#[derive(Debug, Default)]
pub struct ChargePage {
    /// In the order of their ids, which is that of time.
    pub charges: Vec<ChargeEntry>,
    /// Where the next page begins; none on the last one.
    pub next: Option<TransactionId>,
}

impl Store {
    /// The charges of a period after this one.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn charges(
        &self,
        org: &OrgId,
        span: Span,
        after: Option<&TransactionId>,
    ) -> Result<ChargePage, Error> {
        if span.is_empty() {
            return Ok(ChargePage::default());
        }
        let low = match (after, span.from) {
            (Some(after), _) => format!("{}{AFTER}", after.as_str()),
            (None, from) => {
                let from = from.unwrap_or(Timestamp::from_epoch_ms(0));
                TransactionId::new(from, 0).as_str().to_owned()
            }
        };
        let until = span.until.unwrap_or(Timestamp::from_epoch_ms(i64::MAX));
        let high = TransactionId::new(until.plus_ms(-1), u128::MAX);
        let slice = |partition: Partition| {
            let slice = Slice::of_partition(partition).limit(MAX_PAGE);
            slice.between(low.clone(), high.as_str())
        };
        let purchase = Some(TransactionType::Purchase.as_str().to_owned());
        let purchases = slice(ledger_entries(org)).filter("type", purchase);
        // The new ones first: one that leaves them meanwhile is met among the others.
        let new = self.slice::<CostRecord>(slice(new_costs(org)));
        let (new, purchases) = tokio::try_join!(new, self.slice::<LedgerEntry>(purchases))?;
        let old = self.slice::<CostRecord>(slice(costs(org))).await?;
        // Of each partition everything is known up to the last one of a page that is not its last.
        let ends = [
            new.items.last().filter(|_| new.has_more).map(|of| &of.id),
            old.items.last().filter(|_| old.has_more).map(|of| &of.id),
            purchases
                .items
                .last()
                .filter(|_| purchases.has_more)
                .map(|of| &of.id),
        ];
        let next = ends.into_iter().flatten().min().cloned();
        let is_known = |id: &TransactionId| next.as_ref().is_none_or(|next| id <= next);
        let mut charges: BTreeMap<TransactionId, ChargeEntry> = BTreeMap::new();
        let records = new.items.into_iter().chain(old.items);
        let records: Vec<CostRecord> = records.filter(|record| is_known(&record.id)).collect();
        let corrections = self.corrections(org, &records).await?;
        for record in records {
            let corrects = corrections.contains(&record.id);
            charges.insert(record.id.clone(), ChargeEntry::Usage(record, corrects));
        }
        for entry in purchases.items.into_iter().filter(|of| is_known(&of.id)) {
            charges.insert(entry.id.clone(), ChargeEntry::Purchase(entry));
        }
        Ok(ChargePage {
            charges: charges.into_values().collect(),
            next,
        })
    }

    /// Refunds of charges of an earlier month. A run or a verification that was created in the refund's
    /// month was charged in it, too.
    async fn corrections(
        &self,
        org: &OrgId,
        records: &[CostRecord],
    ) -> Result<BTreeSet<TransactionId>, Error> {
        let mut corrections = BTreeSet::new();
        for record in records.iter().filter(|record| record.is_refund) {
            let began = month(record.at, 0);
            if record.made_at() >= began {
                continue;
            }
            let key = Key::settlement_of(org, record.settled_as());
            let settled: Option<SettlementItem> = self.get(&key).await?;
            if settled.is_some_and(|settled| settled.settled_at < began) {
                corrections.insert(record.id.clone());
            }
        }
        Ok(corrections)
    }
}
