//! The price list as the API shows it.

use awo_domain::Timestamp;
use awo_domain::ledger::Rates;
use awo_domain::money::MicroCredits;
use awo_pricing::{ListedPrice, Prices, Rate, Source, Tier};
use serde::Serialize;
use utoipa::ToSchema;

/// The prices of models and compute.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PriceListShape {
    /// Names the prices in force: runs and ledger entries that were priced by them name it, too.
    version: String,
    /// When the built-in prices were last changed.
    updated_at: Timestamp,
    /// Credits for a US dollar of model cost.
    credits_per_usd: MicroCredits,
    /// Credits for a minute of compute, charged by the started second.
    credits_per_minute: MicroCredits,
    /// Every model whose price is known.
    models: Vec<ModelPriceShape>,
}

/// The price of a model.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPriceShape {
    /// The model's name, as runs and ledger entries name it.
    model: String,
    /// Whose model it is.
    provider: String,
    #[serde(flatten)]
    rate: RateShape,
    /// Prices of larger calls, the smallest of these first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    tiers: Vec<TierShape>,
    /// Where the price comes from.
    source: SourceShape,
}

/// US dollars for a million tokens.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateShape {
    /// For input.
    input_usd_per_million: f64,
    /// For cached input; absent where cached input costs as much as other input.
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input_usd_per_million: Option<f64>,
    /// For input that is written to the cache; absent where that costs as much as other input.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_usd_per_million: Option<f64>,
    /// For output.
    output_usd_per_million: f64,
}

/// The price of larger calls.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TierShape {
    /// It is the price of calls with more input tokens than this.
    above_input_tokens: u64,
    #[serde(flatten)]
    rate: RateShape,
}

/// Where a price comes from.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub enum SourceShape {
    /// The table that the release bundles.
    #[serde(rename = "built-in")]
    BuiltIn,
    /// The deployment's own price file.
    #[serde(rename = "operator")]
    Operator,
}

impl PriceListShape {
    /// The prices in force at this time.
    pub fn of(prices: &Prices, rates: Rates, at: Timestamp) -> PriceListShape {
        PriceListShape {
            version: prices.version(),
            updated_at: Prices::updated_at(),
            credits_per_usd: rates.credits_per_usd,
            credits_per_minute: rates.credits_per_minute,
            models: prices.list(at).into_iter().map(From::from).collect(),
        }
    }
}

impl From<ListedPrice> for ModelPriceShape {
    fn from(price: ListedPrice) -> ModelPriceShape {
        ModelPriceShape {
            model: price.model,
            provider: price.provider,
            rate: price.rate.into(),
            tiers: price.tiers.into_iter().map(From::from).collect(),
            source: match price.source {
                Source::BuiltIn => SourceShape::BuiltIn,
                Source::Operator => SourceShape::Operator,
            },
        }
    }
}

impl From<Rate> for RateShape {
    fn from(rate: Rate) -> RateShape {
        RateShape {
            input_usd_per_million: rate.input,
            cached_input_usd_per_million: rate.cached_input,
            cache_write_usd_per_million: rate.cache_write,
            output_usd_per_million: rate.output,
        }
    }
}

impl From<Tier> for TierShape {
    fn from(tier: Tier) -> TierShape {
        TierShape {
            above_input_tokens: tier.above_input_tokens,
            rate: tier.rate.into(),
        }
    }
}
