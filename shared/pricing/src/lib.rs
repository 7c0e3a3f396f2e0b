//! What models cost. A price that is not known is never guessed.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use awo_domain::Timestamp;
use awo_domain::money::NanoUsd;
use awo_domain::usage::ModelUsage;
use genai_prices::{PriceRequest, Usage, UsageKey};
use serde::{Deserialize, Serialize};

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
    /// A sentence that says what is wrong with it.
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

    /// The operator's own prices, as [`Prices::parse`] reads them.
    #[must_use]
    pub fn own(&self) -> serde_json::Value {
        // Prices that were read are finite numbers under names, which are always JSON.
        serde_json::to_value(&self.own).unwrap_or_default()
    }

    /// The cost of a usage at a time, or none if the model's price is not known.
    #[must_use]
    pub fn cost(&self, usage: &ModelUsage, at: Timestamp) -> Option<NanoUsd> {
        let usd = match self.own.get(&usage.model) {
            Some(price) => own_cost(price, usage),
            None => public_cost(usage, at)?,
        };
        to_nano(usd)
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
fn public_cost(usage: &ModelUsage, at: Timestamp) -> Option<f64> {
    let counts = Usage::from([
        (UsageKey::INPUT_TOKENS, usage.input_tokens as f64),
        (
            UsageKey::CACHE_READ_TOKENS,
            usage.cached_input_tokens as f64,
        ),
        (
            UsageKey::CACHE_WRITE_TOKENS,
            usage.cache_write_tokens as f64,
        ),
        (UsageKey::OUTPUT_TOKENS, usage.output_tokens as f64),
    ]);
    let at = UNIX_EPOCH + Duration::from_millis(u64::try_from(at.epoch_ms()).unwrap_or(0));
    let price =
        genai_prices::calculate(&PriceRequest::new(&usage.model, &counts).with_timestamp(at))
            .ok()?;
    Some(price.total_price)
}

#[expect(clippy::cast_possible_truncation, reason = "checked against the range")]
fn to_nano(usd: f64) -> Option<NanoUsd> {
    let nano = (usd * 1e9).round();
    (nano.is_finite() && (0.0..9e15).contains(&nano)).then(|| NanoUsd::from_nano(nano as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(model: &str) -> ModelUsage {
        ModelUsage {
            model: model.to_owned(),
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cached_input_tokens: 200_000,
            cache_write_tokens: 0,
            cost_usd: Some(999.0),
        }
    }

    #[test]
    fn an_unknown_model_has_no_price_and_a_reported_cost_is_no_price() {
        let at = Timestamp::from_epoch_ms(1_780_000_000_000);
        assert_eq!(
            Prices::default().cost(&usage("nobody-knows-this-model"), at),
            None
        );
        assert!(Prices::default().cost(&usage("gpt-4o"), at).is_some());
    }

    #[test]
    fn what_is_written_to_the_cache_costs_what_its_provider_asks_for_it() {
        let at = Timestamp::from_epoch_ms(1_780_000_000_000);
        // As Claude Code itself said of these counts.
        let claude = ModelUsage {
            model: "claude-sonnet-4-5".to_owned(),
            input_tokens: 1_200,
            output_tokens: 40,
            cached_input_tokens: 600,
            cache_write_tokens: 400,
            cost_usd: None,
        };
        let cost = Prices::default().cost(&claude, at);
        assert_eq!(cost, Some(NanoUsd::from_nano(2_880_000)));
        let gpt = ModelUsage {
            model: "gpt-4o".to_owned(),
            ..claude
        };
        let unwritten = ModelUsage {
            cache_write_tokens: 0,
            ..gpt.clone()
        };
        let cost = |usage| Prices::default().cost(usage, at);
        assert_eq!(cost(&gpt), cost(&unwritten), "it asks no more for them");
        let own = br#"{"gpt-4o":{"inputUsdPerMillion":1,"outputUsdPerMillion":1,"cacheWriteUsdPerMillion":2}}"#;
        let own = Prices::parse(own).unwrap();
        assert_eq!(own.cost(&gpt, at), Some(NanoUsd::from_nano(1_640_000)));
    }

    #[test]
    fn own_prices_read_back_as_they_were_written() {
        let json = br#"{"m":{"inputUsdPerMillion":1.5,"outputUsdPerMillion":10.0}}"#;
        let own = Prices::parse(json).unwrap().own();
        assert_eq!(serde_json::to_vec(&own).unwrap(), json);
        assert!(Prices::parse(&serde_json::to_vec(&Prices::default().own()).unwrap()).is_ok());
    }

    #[test]
    fn the_operators_price_comes_first() {
        let prices = Prices::parse(
            br#"{"gpt-4o": {"inputUsdPerMillion": 1, "outputUsdPerMillion": 10, "cachedInputUsdPerMillion": 0.5}}"#,
        );
        let at = Timestamp::from_epoch_ms(0);
        assert_eq!(
            prices.unwrap().cost(&usage("gpt-4o"), at),
            Some(NanoUsd::from_nano(1_900_000_000))
        );
        assert!(
            Prices::parse(br#"{"m": {"inputUsdPerMillion": -1, "outputUsdPerMillion": 0}}"#)
                .is_err()
        );
        assert!(Prices::parse(br#"{"m": {"input": 1}}"#).is_err());
    }
}
