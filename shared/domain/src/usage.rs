//! Token usage of models, and the numbers that a run reports of itself.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one model was used for. `input_tokens` counts all input tokens; `cached_input_tokens`
/// is the part of them that was read from the provider's cache, and `cache_write_tokens` the part
/// that was written to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelUsage {
    /// The model's name as its provider calls it.
    pub model: String,
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens that came from the cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Input tokens that went into the cache, where the provider says so: some ask more for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// What the agent says it cost: kept for information, never charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Longest model name that is kept.
pub const MAX_MODEL_NAME: usize = 128;
/// Most models that one run may name.
pub const MAX_MODELS: usize = 50;
/// More tokens than any run can have used; larger numbers are a broken report.
pub const MAX_TOKENS: u64 = 1_000_000_000_000;

impl ModelUsage {
    /// Why this cannot be true, if it cannot.
    ///
    /// # Errors
    /// A sentence that names the field.
    pub fn check(&self) -> Result<(), String> {
        if self.model.is_empty()
            || self.model.len() > MAX_MODEL_NAME
            || self.model.chars().any(char::is_control)
        {
            return Err(format!(
                "model must be 1–{MAX_MODEL_NAME} printable characters"
            ));
        }
        if self.input_tokens > MAX_TOKENS || self.output_tokens > MAX_TOKENS {
            return Err(format!("token counts of {} are out of range", self.model));
        }
        let cache = self
            .cached_input_tokens
            .saturating_add(self.cache_write_tokens);
        if cache > self.input_tokens {
            return Err(format!(
                "cachedInputTokens and cacheWriteTokens of {} exceed its inputTokens",
                self.model
            ));
        }
        if self
            .cost_usd
            .is_some_and(|usd| !usd.is_finite() || usd < 0.0)
        {
            return Err(format!(
                "costUsd of {} must be a number of 0 or more",
                self.model
            ));
        }
        Ok(())
    }
}

/// Adds usage up by model, so that every model stands once.
#[must_use]
pub fn sum_by_model<'a>(all: impl IntoIterator<Item = &'a ModelUsage>) -> Vec<ModelUsage> {
    let mut by_model: BTreeMap<&str, ModelUsage> = BTreeMap::new();
    for one in all {
        by_model
            .entry(one.model.as_str())
            .and_modify(|sum| {
                sum.input_tokens = sum.input_tokens.saturating_add(one.input_tokens);
                sum.output_tokens = sum.output_tokens.saturating_add(one.output_tokens);
                sum.cached_input_tokens = sum
                    .cached_input_tokens
                    .saturating_add(one.cached_input_tokens);
                sum.cache_write_tokens = sum
                    .cache_write_tokens
                    .saturating_add(one.cache_write_tokens);
                sum.cost_usd = match (sum.cost_usd, one.cost_usd) {
                    (None, None) => None,
                    (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
                };
            })
            .or_insert_with(|| one.clone());
    }
    by_model.into_values().collect()
}
