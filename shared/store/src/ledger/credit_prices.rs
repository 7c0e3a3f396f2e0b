//! What a credit was worth in dollars, and from when on: an export of a month that is over must not change
//! with the deployment's present rate. The sweep notes a rate that is new.

use awo_domain::cost::focus::CreditPrice;
use awo_domain::money::MicroCredits;
use awo_domain::{Error, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;

/// Most changes of the rate that are stored; what comes later counts as the last of them.
const MAX_PRICES: usize = 1_000;

/// All rates that there were.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PricesItem {
    number: u64,
    prices: Vec<PriceItem>,
    v: u32,
}

/// A rate.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PriceItem {
    from: Timestamp,
    credits_per_usd_micro: i64,
}

impl Store {
    /// Credits for a dollar, as they were over time, oldest first; none before the first sweep.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn credit_prices(&self) -> Result<Vec<CreditPrice>, Error> {
        let item = self.prices_item().await?;
        let prices = item.map(|item| item.prices).unwrap_or_default();
        let read = |item: PriceItem| CreditPrice {
            from: item.from,
            credits_per_usd: MicroCredits::from_micro(item.credits_per_usd_micro),
        };
        Ok(prices.into_iter().map(read).collect())
    }

    async fn prices_item(&self) -> Result<Option<PricesItem>, Error> {
        let key = Key::credit_prices();
        self.get(&key).await
    }

    /// Notes the rate if it is another one than before. Of rivals one does.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn note_credit_price(
        &self,
        credits_per_usd: MicroCredits,
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut item = self.prices_item().await?.unwrap_or(PricesItem {
            number: 0,
            prices: Vec::new(),
            v: SCHEMA_VERSION,
        });
        let last = item.prices.last().map(|last| last.credits_per_usd_micro);
        if last == Some(credits_per_usd.micro()) || item.prices.len() >= MAX_PRICES {
            return Ok(());
        }
        let same = (item.number > 0).then_some(item.number);
        item.number += 1;
        item.prices.push(PriceItem {
            from: now,
            credits_per_usd_micro: credits_per_usd.micro(),
        });
        let same = Change::new().when_option("number", same);
        let key = Key::credit_prices();
        Transaction::new()
            .put_when(&key, &item, same)?
            .commit(self)
            .await?;
        Ok(())
    }
}
