//! Prices of models. An unknown price is never guessed.

mod bedrock;
mod list;

pub use list::{ListedPrice, Rate, Source, Tier};

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use awo_domain::Timestamp;
use awo_domain::agent::answer::{Counts, ServiceTier};
use awo_domain::money::NanoUsd;
use awo_domain::usage::{ModelUsage, PricedUsage};
use genai_prices::{PriceCalculation, PriceRequest, Usage, UsageKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The release of the crate that bundles the table of public prices; `Cargo.toml` pins it.
const TABLE_RELEASE: &str = "0.2.1";
/// How much of the hash of the operator's own prices a version shows.
const OWN_HASH_DIGITS: usize = 12;

/// A price of the operator's own, in US dollars for a million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OwnPrice {
    /// Input tokens that were not cached.
    pub input_usd_per_million: f64,
    /// Output tokens.
    pub output_usd_per_million: f64,
    /// Cached input tokens; as other input where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_usd_per_million: Option<f64>,
    /// Input tokens that are written to the cache; as other input where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_usd_per_million: Option<f64>,
}

/// The operator's prices by model, over the bundled table of public prices.
#[derive(Debug, Clone, Default)]
pub struct Prices {
    own: BTreeMap<String, OwnPrice>,
}

impl Prices {
    /// Reads a price file: `{"<model>": {"inputUsdPerMillion": 3, "outputUsdPerMillion": 15}}`.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(json: &[u8]) -> Result<Prices, String> {
        let own: BTreeMap<String, OwnPrice> =
            serde_json::from_slice(json).map_err(|e| e.to_string())?;
        let numbers = own.values().flat_map(|p| {
            [
                Some(p.input_usd_per_million),
                Some(p.output_usd_per_million),
                p.cached_input_usd_per_million,
                p.cache_write_usd_per_million,
            ]
        });
        if numbers.flatten().any(|n| !n.is_finite() || n < 0.0) {
            return Err("prices must be numbers of 0 or more".to_owned());
        }
        Ok(Prices { own })
    }

    /// The bundled prices, and those of the operator's price file, if there is one.
    ///
    /// # Errors
    /// A sentence with the reason why the file is not valid.
    pub fn of_file(path: Option<&str>) -> Result<Prices, String> {
        match path {
            Some(path) => Prices::parse(&std::fs::read(path).map_err(|e| e.to_string())?),
            None => Ok(Prices::default()),
        }
    }

    /// The operator's own prices, as [`Prices::parse`] reads them.
    #[must_use]
    pub fn own(&self) -> serde_json::Value {
        // Prices that were read are finite numbers under names, which are always JSON.
        serde_json::to_value(&self.own).unwrap_or_default()
    }

    /// Names the effective prices, so that a price can be found later: the release of the bundled
    /// table, and what the operator's own prices hash to, if there are any.
    #[must_use]
    pub fn version(&self) -> String {
        let table = format!("genai-prices-{TABLE_RELEASE}");
        if self.own.is_empty() {
            return table;
        }
        let own = serde_json::to_vec(&self.own).unwrap_or_default();
        let hash = hex::encode(Sha256::digest(own));
        format!("{table}+own-{}", &hash[..OWN_HASH_DIGITS])
    }

    /// What one call costs that was answered at this time, by its own size, or none if the model's
    /// price is not known.
    #[must_use]
    pub fn call(&self, model: &str, counts: &Counts, at: Timestamp) -> Option<NanoUsd> {
        let usd = match self.own.get(model) {
            Some(price) => {
                let searches = Counts {
                    web_searches: counts.web_searches,
                    ..Counts::default()
                };
                own_cost(price, &counts.of(model))
                    + public_cost(model, &searches, at).unwrap_or_default()
            }
            None => public_cost(model, counts, at)?,
        };
        to_nano(usd)
    }

    /// What usage costs that a process reports of itself, or none if the model's price is not known.
    /// How large its calls were is not known, so it has the price of the smallest.
    #[must_use]
    pub fn reported(&self, usage: &ModelUsage, at: Timestamp) -> Option<NanoUsd> {
        let usd = match self.own.get(&usage.model) {
            Some(price) => own_cost(price, usage),
            None => base_cost(usage, at)?,
        };
        to_nano(usd)
    }

    /// The same of several, each with its price.
    #[must_use]
    pub fn price_reported(&self, usage: Vec<ModelUsage>, at: Timestamp) -> Vec<PricedUsage> {
        let price = |usage: ModelUsage| {
            let cost = self.reported(&usage, at);
            PricedUsage::new(usage, cost)
        };
        usage.into_iter().map(price).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts stay below 2^53")]
fn own_cost(price: &OwnPrice, usage: &ModelUsage) -> f64 {
    let (read, written) = (usage.cached_input_tokens, usage.cache_write_tokens);
    let fresh = usage
        .input_tokens
        .saturating_sub(read.saturating_add(written));
    let or_fresh =
        |price_of_cache: Option<f64>| price_of_cache.unwrap_or(price.input_usd_per_million);
    (fresh as f64 * price.input_usd_per_million
        + read as f64 * or_fresh(price.cached_input_usd_per_million)
        + written as f64 * or_fresh(price.cache_write_usd_per_million)
        + usage.output_tokens as f64 * price.output_usd_per_million)
        / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "token counts stay below 2^53")]
fn public_cost(model: &str, counts: &Counts, at: Timestamp) -> Option<f64> {
    let usage = counts.of(model);
    let for_an_hour = counts.written_for_an_hour.min(usage.cache_write_tokens);
    let units = Usage::from([
        (UsageKey::INPUT_TOKENS, usage.input_tokens as f64),
        (
            UsageKey::CACHE_READ_TOKENS,
            usage.cached_input_tokens as f64,
        ),
        (
            UsageKey::CACHE_WRITE_TOKENS,
            usage.cache_write_tokens as f64,
        ),
        (UsageKey::CACHE_WRITE_1H_TOKENS, for_an_hour as f64),
        (UsageKey::OUTPUT_TOKENS, usage.output_tokens as f64),
        (UsageKey::WEB_SEARCHES, counts.web_searches as f64),
    ]);
    let tier = counts.service_tier.map(ServiceTier::as_str);
    public_price(model, &units, tier, at)
}

/// The price in the lowest tier of long contexts: tiers are a matter of a call's input, so the sum
/// is priced as if it came in calls of one token each.
#[expect(clippy::cast_precision_loss, reason = "token counts stay below 2^53")]
fn base_cost(usage: &ModelUsage, at: Timestamp) -> Option<f64> {
    let calls = usage.input_tokens.max(1) as f64;
    let each = |tokens: u64| tokens as f64 / calls;
    let units = Usage::from([
        (UsageKey::INPUT_TOKENS, each(usage.input_tokens)),
        (UsageKey::CACHE_READ_TOKENS, each(usage.cached_input_tokens)),
        (UsageKey::CACHE_WRITE_TOKENS, each(usage.cache_write_tokens)),
        (UsageKey::OUTPUT_TOKENS, each(usage.output_tokens)),
    ]);
    Some(public_price(&usage.model, &units, None, at)? * calls)
}

fn public_price(
    model: &str,
    units: &Usage,
    service_tier: Option<&str>,
    at: Timestamp,
) -> Option<f64> {
    Some(calculated(model, units, service_tier, at)?.total_price)
}

/// The bundled table's prices, and the provider of the model.
fn calculated(
    model: &str,
    units: &Usage,
    service_tier: Option<&str>,
    at: Timestamp,
) -> Option<PriceCalculation> {
    let ask = |model: &str, provider: Option<&str>| {
        let mut request = PriceRequest::new(model, units).with_timestamp(to_time(at));
        if let Some(tier) = service_tier {
            request = request.with_price_context("service_tier", tier);
        }
        if let Some(provider) = provider {
            request = request.with_provider_id(provider);
        }
        genai_prices::calculate(&request).ok()
    };
    match bedrock::regional(model) {
        // The table does not have each region's name; all regions have one price.
        Some(regional) => {
            let own = ask(model, Some(bedrock::TABLE_PROVIDER));
            own.or_else(|| ask(regional, Some(bedrock::TABLE_PROVIDER)))
        }
        None => ask(model, None),
    }
}

fn to_time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(at.epoch_ms()).unwrap_or(0))
}

/// Costs end at the largest amount: one that is too large to be true is not free.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast of a float saturates, and the amount is bounded"
)]
fn to_nano(usd: f64) -> Option<NanoUsd> {
    let nano = (usd * 1e9).round();
    (!nano.is_nan()).then(|| NanoUsd::from_nano(nano as i64).bounded())
}

#[cfg(test)]
mod tests;
