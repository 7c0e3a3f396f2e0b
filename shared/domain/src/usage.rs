//! Token usage of models, and the numbers that a run reports.
//!
//! Usage comes from hostile processes. It is bounded when it is read, and never refused: a refusal
//! would follow the delivery of the work, and the run would be free.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::money::NanoUsd;

/// Longest model name that is stored, in bytes.
pub const MAX_MODEL_NAME: usize = 128;
/// Most models that are named of one run; further ones count as [`OTHER_MODELS`].
pub const MAX_MODELS: usize = 50;
/// What models are called that are not named: those beyond [`MAX_MODELS`], and those without a name
/// that could be shown.
pub const OTHER_MODELS: &str = "other";
/// Token counts end here: more than any run can have used.
pub const MAX_TOKENS: u64 = 1_000_000_000_000;
/// Reported costs end here, in US dollars; a larger one is dropped.
pub const MAX_REPORTED_USD: f64 = 1_000_000.0;

/// The usage of one model. `input_tokens` counts all input tokens; `cached_input_tokens`
/// is the part of them that was read from the provider's cache, and `cache_write_tokens` the part
/// that was written to it.
///
/// Whatever is read is within bounds: counts saturate at 0 and [`MAX_TOKENS`], what the cache counts
/// is part of the input, a cost that cannot be true is dropped, and a model whose name cannot be
/// shown is [`OTHER_MODELS`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", from = "ReportedUsage")]
#[schema(as = AgentModelUsage, description = "The usage of one model.")]
pub struct ModelUsage {
    /// The model's name as its provider calls it.
    pub model: String,
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens that came from the cache.
    pub cached_input_tokens: u64,
    /// Input tokens that went into the cache, where the provider reports them: some charge more for them.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// The cost that the agent reports, in US dollars: stored for information, never charged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Usage as a process wrote it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReportedUsage {
    model: String,
    #[serde(deserialize_with = "saturating")]
    input_tokens: u64,
    #[serde(deserialize_with = "saturating")]
    output_tokens: u64,
    #[serde(default, deserialize_with = "saturating")]
    cached_input_tokens: u64,
    #[serde(default, deserialize_with = "saturating")]
    cache_write_tokens: u64,
    #[serde(default)]
    cost_usd: Option<f64>,
}

/// A number as JSON has it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

fn saturating<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of a float saturates, which is what is wanted"
    )]
    let count = match Number::deserialize(from)? {
        Number::Unsigned(count) => count,
        Number::Signed(count) => u64::try_from(count).unwrap_or(0),
        Number::Float(count) => count as u64,
    };
    Ok(count.min(MAX_TOKENS))
}

impl From<ReportedUsage> for ModelUsage {
    fn from(reported: ReportedUsage) -> ModelUsage {
        ModelUsage {
            model: reported.model,
            input_tokens: reported.input_tokens,
            output_tokens: reported.output_tokens,
            cached_input_tokens: reported.cached_input_tokens,
            cache_write_tokens: reported.cache_write_tokens,
            cost_usd: reported.cost_usd,
        }
        .bounded()
    }
}

impl ModelUsage {
    /// The same within bounds.
    #[must_use]
    pub fn bounded(self) -> ModelUsage {
        let input = self.input_tokens.min(MAX_TOKENS);
        let cached = self.cached_input_tokens.min(input);
        ModelUsage {
            model: if is_model_name(&self.model) {
                self.model
            } else {
                OTHER_MODELS.to_owned()
            },
            input_tokens: input,
            output_tokens: self.output_tokens.min(MAX_TOKENS),
            cached_input_tokens: cached,
            cache_write_tokens: self.cache_write_tokens.min(input - cached),
            cost_usd: self
                .cost_usd
                .filter(|usd| (0.0..=MAX_REPORTED_USD).contains(usd)),
        }
    }

    /// Input and output together.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    fn plus(self, more: &ModelUsage) -> ModelUsage {
        let sum = |a: u64, b: u64| a.saturating_add(b);
        ModelUsage {
            input_tokens: sum(self.input_tokens, more.input_tokens),
            output_tokens: sum(self.output_tokens, more.output_tokens),
            cached_input_tokens: sum(self.cached_input_tokens, more.cached_input_tokens),
            cache_write_tokens: sum(self.cache_write_tokens, more.cache_write_tokens),
            cost_usd: match (self.cost_usd, more.cost_usd) {
                (None, None) => None,
                (a, b) => Some((a.unwrap_or(0.0) + b.unwrap_or(0.0)).min(MAX_REPORTED_USD)),
            },
            model: self.model,
        }
        .bounded()
    }
}

/// True for a name that can be stored and shown: 1–[`MAX_MODEL_NAME`] printable bytes.
#[must_use]
pub fn is_model_name(name: &str) -> bool {
    (1..=MAX_MODEL_NAME).contains(&name.len()) && !name.chars().any(char::is_control)
}

/// What one model was used for, and what that costs: the sum of what each call costs by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PricedUsage {
    /// The counts.
    pub usage: ModelUsage,
    /// Billionths of a US dollar; absent if the price is not known, which is never guessed.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "cost"
    )]
    pub cost_usd_nano: Option<i64>,
}

fn cost<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let nano = Option::<i64>::deserialize(from)?;
    Ok(nano.map(|nano| NanoUsd::from_nano(nano).bounded().nano()))
}

impl PricedUsage {
    /// Usage and its cost.
    #[must_use]
    pub fn new(usage: ModelUsage, cost: Option<NanoUsd>) -> PricedUsage {
        PricedUsage {
            usage: usage.bounded(),
            cost_usd_nano: cost.map(|cost| cost.bounded().nano()),
        }
    }

    /// The priced part of all.
    #[must_use]
    pub fn total(all: &[PricedUsage]) -> NanoUsd {
        PricedUsage::total_of(all)
    }

    /// The priced part of all.
    #[must_use]
    pub fn total_of<'a>(all: impl IntoIterator<Item = &'a PricedUsage>) -> NanoUsd {
        let known = all.into_iter().filter_map(|one| one.cost_usd_nano);
        known.fold(NanoUsd::ZERO, |sum, nano| {
            sum.plus(NanoUsd::from_nano(nano)).bounded()
        })
    }

    fn plus(self, more: &PricedUsage) -> PricedUsage {
        let costs = [self.cost_usd_nano, more.cost_usd_nano];
        let is_known = costs.iter().any(Option::is_some);
        let cost = costs.into_iter().flatten().map(NanoUsd::from_nano);
        let cost = cost.fold(NanoUsd::ZERO, NanoUsd::plus);
        PricedUsage::new(self.usage.plus(&more.usage), is_known.then_some(cost))
    }
}

/// Adds usage up by model, so that each model stands once, in the order of names. Of more than
/// [`MAX_MODELS`] models those without a price are the first to be added up as [`OTHER_MODELS`],
/// then those that come last: no name of an agent's own crowds out a model that costs something.
#[must_use]
pub fn sum_by_model<'a>(all: impl IntoIterator<Item = &'a PricedUsage>) -> Vec<PricedUsage> {
    let mut by_model: BTreeMap<&str, (usize, PricedUsage)> = BTreeMap::new();
    for (at, one) in all.into_iter().enumerate() {
        by_model
            .entry(one.usage.model.as_str())
            .and_modify(|(_, sum)| *sum = sum.clone().plus(one))
            .or_insert_with(|| (at, one.clone()));
    }
    let other = by_model.remove(OTHER_MODELS).map(|(_, other)| other);
    let mut sums: Vec<(usize, PricedUsage)> = by_model.into_values().collect();
    sums.sort_by_key(|(at, sum)| (sum.cost_usd_nano.is_none(), *at));
    let beyond = sums.split_off(sums.len().min(MAX_MODELS));
    let beyond = beyond.into_iter().map(|(_, mut sum)| {
        OTHER_MODELS.clone_into(&mut sum.usage.model);
        sum
    });
    let other = other.into_iter().chain(beyond);
    let other = other.reduce(|sum, more| sum.plus(&more));
    let mut sums: Vec<PricedUsage> = sums.into_iter().map(|(_, sum)| sum).chain(other).collect();
    sums.sort_by(|a, b| a.usage.model.cmp(&b.usage.model));
    sums
}

/// The same for usage that a process reports itself, which has no price yet.
#[must_use]
pub fn reported_by_model(all: Vec<ModelUsage>) -> Vec<ModelUsage> {
    let all: Vec<PricedUsage> = all
        .into_iter()
        .map(|one| PricedUsage::new(one, None))
        .collect();
    let sums = sum_by_model(&all).into_iter();
    sums.map(|sum| sum.usage).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn used(model: &str, tokens: u64, cost: Option<i64>) -> PricedUsage {
        let usage = format!(r#"{{"model":"{model}","inputTokens":{tokens},"outputTokens":0}}"#);
        PricedUsage::new(
            serde_json::from_str(&usage).unwrap(),
            cost.map(NanoUsd::from_nano),
        )
    }

    #[test]
    fn what_cannot_be_true_is_bounded_and_not_refused() {
        let read = |text: &str| serde_json::from_str::<ModelUsage>(text).unwrap();
        let huge = read(
            r#"{"model":"m","inputTokens":1e300,"outputTokens":18446744073709551615,
                "cachedInputTokens":9e18,"cacheWriteTokens":5,"costUsd":1e200}"#,
        );
        assert_eq!(huge.input_tokens, MAX_TOKENS);
        assert_eq!(huge.output_tokens, MAX_TOKENS);
        assert_eq!(huge.cached_input_tokens, MAX_TOKENS);
        assert_eq!((huge.cache_write_tokens, huge.cost_usd), (0, None));
        let negative = read(r#"{"model":"m","inputTokens":-5,"outputTokens":-0.5,"costUsd":-1}"#);
        assert_eq!((negative.input_tokens, negative.output_tokens), (0, 0));
        assert_eq!(negative.cost_usd, None);
        for name in ["", "a\\u0007b", &"x".repeat(MAX_MODEL_NAME + 1)] {
            let text = format!(r#"{{"model":"{name}","inputTokens":1,"outputTokens":1}}"#);
            assert_eq!(read(&text).model, OTHER_MODELS);
        }
        let unknown = r#"{"model":"m","inputTokens":1,"outputTokens":1,"x":1}"#;
        assert!(serde_json::from_str::<ModelUsage>(unknown).is_err());
    }

    #[test]
    fn models_beyond_the_limit_are_other_and_those_without_a_price_first() {
        let mut all: Vec<PricedUsage> = (0..60)
            .map(|n| used(&format!("made-up-{n:02}"), 1, None))
            .collect();
        all.push(used("zz-real", 1_000, Some(7)));
        let sums = sum_by_model(&all);
        assert_eq!(sums.len(), MAX_MODELS + 1);
        let real = sums.iter().find(|one| one.usage.model == "zz-real");
        assert_eq!(real.unwrap().cost_usd_nano, Some(7));
        let other = sums.iter().find(|one| one.usage.model == OTHER_MODELS);
        assert_eq!(other.unwrap().usage.input_tokens, 11);
        assert_eq!(
            sum_by_model(&sums),
            sums,
            "adding it up again changes nothing"
        );
    }

    #[test]
    fn a_cost_without_bounds_ends_at_the_largest_amount() {
        let all = [used("a", 1, Some(i64::MAX)), used("a", 1, Some(i64::MAX))];
        assert_eq!(
            sum_by_model(&all)[0].cost_usd_nano,
            Some(NanoUsd::MAX.nano())
        );
        let read: PricedUsage = serde_json::from_str(
            r#"{"usage":{"model":"m","inputTokens":1,"outputTokens":1},"costUsdNano":-5}"#,
        )
        .unwrap();
        assert_eq!(read.cost_usd_nano, Some(0));
    }

    proptest! {
        #[test]
        fn adding_up_loses_neither_tokens_nor_cost(
            calls in prop::collection::vec((0u8..80, 0u64..1_000, prop::option::of(0i64..1_000)), 0..200),
            cut in 0usize..200,
        ) {
            let calls: Vec<PricedUsage> = calls
                .into_iter()
                .map(|(model, tokens, cost)| used(&format!("m{model}"), tokens, cost))
                .collect();
            let (first, rest) = calls.split_at(cut.min(calls.len()));
            let sums = sum_by_model(sum_by_model(first).iter().chain(rest));
            let tokens = |all: &[PricedUsage]| all.iter().map(|one| one.usage.tokens()).sum::<u64>();
            prop_assert_eq!(tokens(&sums), tokens(&calls));
            prop_assert_eq!(PricedUsage::total(&sums), PricedUsage::total(&calls));
            prop_assert!(sums.len() <= MAX_MODELS + 1);
        }
    }
}
