//! The prices in force as a list: what the service itself would ask for a call of each model, found
//! by asking it.

use awo_domain::Timestamp;
use genai_prices::{Calculator, Usage, UsageKey};

use super::{OwnPrice, Prices, bedrock, calculated, public_price};

/// The day of the newest price in the bundled table.
const TABLE_UPDATED_AT: &str = "2026-10-30T00:00:00.000Z";
/// The provider of an operator's own model that the bundled table does not know.
const CUSTOM: &str = "custom";
/// Larger than the context of any model, in tokens.
const LARGEST_CALL: u64 = 1 << 24;
/// Most tiers of a model.
const MAX_TIERS: usize = 8;
const MILLION: f64 = 1e6;

/// Where a price comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The bundled table of public prices.
    BuiltIn,
    /// The operator's own prices.
    Operator,
}

/// Prices of calls of one size, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Input tokens that were not cached.
    pub input: f64,
    /// Cached input tokens, if they cost something else.
    pub cached_input: Option<f64>,
    /// Input tokens that are written to the cache, if they cost something else.
    pub cache_write: Option<f64>,
    /// Output tokens.
    pub output: f64,
}

/// A price of larger calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tier {
    /// For calls with more input tokens than this.
    pub above_input_tokens: u64,
    /// Their cost.
    pub rate: Rate,
}

/// The price of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedPrice {
    /// The model.
    pub model: String,
    /// Its provider.
    pub provider: String,
    /// What small calls cost.
    pub rate: Rate,
    /// What larger calls cost, the smallest of these first.
    pub tiers: Vec<Tier>,
    /// Where the price comes from.
    pub source: Source,
}

impl Prices {
    /// When the bundled table was last changed.
    #[must_use]
    pub fn updated_at() -> Timestamp {
        Timestamp::parse(TABLE_UPDATED_AT).unwrap_or(Timestamp::from_epoch_ms(0))
    }

    /// The models whose names the service has a price for at this time, by provider and name. A
    /// name that several providers use stands at the one whose price is asked.
    #[must_use]
    pub fn list(&self, at: Timestamp) -> Vec<ListedPrice> {
        let own = self.own.iter().map(|(model, price)| ListedPrice {
            model: model.clone(),
            provider: found(model, at).map_or(CUSTOM.to_owned(), |(provider, _)| {
                bedrock::provider(&provider, model)
            }),
            rate: own_rate(price),
            tiers: Vec::new(),
            source: Source::Operator,
        });
        let mut all: Vec<ListedPrice> = own.collect();
        for provider in Calculator::bundled().providers() {
            for of_table in provider.models().map(genai_prices::ModelInfo::id) {
                let model = bedrock::called(provider.id(), of_table);
                let is_asked = found(model, at)
                    .is_some_and(|(by, name)| by == provider.id() && name == of_table);
                if is_asked && !self.own.contains_key(model) {
                    let provider = bedrock::provider(provider.id(), model);
                    all.extend(listed(&provider, model, at));
                }
            }
        }
        all.sort_by(|a, b| (&a.provider, &a.model).cmp(&(&b.provider, &b.model)));
        all
    }
}

/// Provider and name of the model that this name is priced as.
fn found(model: &str, at: Timestamp) -> Option<(String, String)> {
    let none = Usage::from([(UsageKey::INPUT_TOKENS, 0.0)]);
    let price = calculated(model, &none, None, at)?;
    Some((price.provider_id, price.model_id))
}

fn own_rate(price: &OwnPrice) -> Rate {
    let unless_same = |of: Option<f64>| of.filter(|usd| *usd != price.input_usd_per_million);
    Rate {
        input: price.input_usd_per_million,
        cached_input: unless_same(price.cached_input_usd_per_million),
        cache_write: unless_same(price.cache_write_usd_per_million),
        output: price.output_usd_per_million,
    }
}

fn listed(provider: &str, model: &str, at: Timestamp) -> Option<ListedPrice> {
    let rate = |input| rate_of(model, input, at);
    let (base, mut tiers) = (rate(1)?, Vec::new());
    let (mut below, mut last) = (1, base);
    let largest = rate(LARGEST_CALL)?;
    while last != largest && tiers.len() < MAX_TIERS {
        // The last size that costs as much as the size below.
        let (mut same, mut other) = (below, LARGEST_CALL);
        while other - same > 1 {
            let middle = same + (other - same) / 2;
            if rate(middle)? == last {
                same = middle
            } else {
                other = middle
            }
        }
        (below, last) = (other, rate(other)?);
        tiers.push(Tier {
            above_input_tokens: same,
            rate: last,
        });
    }
    Some(ListedPrice {
        model: model.to_owned(),
        provider: provider.to_owned(),
        rate: base,
        tiers,
        source: Source::BuiltIn,
    })
}

/// What a call with so many input tokens costs.
#[expect(clippy::cast_precision_loss, reason = "token counts stay below 2^53")]
fn rate_of(model: &str, input: u64, at: Timestamp) -> Option<Rate> {
    let tokens = input as f64;
    let price = |more: &[(UsageKey, f64)]| {
        let mut usage = Usage::from([(UsageKey::INPUT_TOKENS, tokens)]);
        for (key, count) in more {
            usage.insert(key.clone(), *count);
        }
        public_price(model, &usage, None, at)
    };
    let whole = price(&[])?;
    let of_all = |usd: f64| rounded(usd / tokens * MILLION);
    let unless_same = |key: UsageKey| {
        let usd = of_all(price(&[(key, tokens)])?);
        (usd != of_all(whole)).then_some(usd)
    };
    Some(Rate {
        input: of_all(whole),
        cached_input: unless_same(UsageKey::CACHE_READ_TOKENS),
        cache_write: unless_same(UsageKey::CACHE_WRITE_TOKENS),
        output: rounded(price(&[(UsageKey::OUTPUT_TOKENS, MILLION)])? - whole),
    })
}

/// To a millionth of a dollar: sums of floats are not exact.
fn rounded(usd: f64) -> f64 {
    (usd * MILLION).round() / MILLION
}
