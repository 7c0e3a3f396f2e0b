//! The runner's data for calling models on behalf of an organization, and for knowing the cost
//! meanwhile. The service computes the final charge by itself.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::ledger::Rates;
use crate::money::MicroCredits;

/// A provider of models that the runner can call for an agent.
// An organization's secret with its key for a provider has the provider's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ModelProvider)]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses and chat completions.
    Openai,
    /// Anthropic's models on Amazon Bedrock, for agents that speak Messages.
    Bedrock,
}

impl Provider {
    /// Those that are called with a key of the organization. Agents speak their protocols alone:
    /// what answers Messages may be Bedrock all the same.
    pub const KEYED: [Provider; 2] = [Provider::Anthropic, Provider::Openai];
}

/// A key for the models of a provider.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelKey {
    /// The provider of the models.
    pub provider: Provider,
    /// The key.
    pub key: String,
}

impl fmt::Debug for ModelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ModelKey {{ provider: {:?}, .. }}", self.provider)
    }
}

/// What things cost in this deployment, as far as the runner counts along.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tariff {
    /// Credits for a US dollar of model cost.
    pub credits_per_usd: f64,
    /// Credits for a minute of compute.
    pub credits_per_minute: f64,
    /// The operator's own prices, as the price file has them.
    pub own_prices: Value,
}

impl Tariff {
    /// The deployment's.
    #[must_use]
    pub fn new(rates: Rates, own_prices: Value) -> Tariff {
        Tariff {
            credits_per_usd: rates.credits_per_usd.to_decimal(),
            credits_per_minute: rates.credits_per_minute.to_decimal(),
            own_prices,
        }
    }

    /// The rates.
    ///
    /// # Errors
    /// A sentence, if they are no amounts of credits.
    pub fn rates(&self) -> Result<Rates, String> {
        Ok(Rates {
            credits_per_usd: MicroCredits::from_decimal(self.credits_per_usd)?,
            credits_per_minute: MicroCredits::from_decimal(self.credits_per_minute)?,
        })
    }
}

impl Default for Tariff {
    fn default() -> Tariff {
        Tariff::new(Rates::default(), Value::Object(serde_json::Map::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = ModelKey {
            provider: Provider::Openai,
            key: "sk-5ecret".to_owned(),
        };
        assert!(!format!("{key:?}").contains("5ecret"));
    }

    #[test]
    fn a_tariff_gives_back_the_rates_that_it_was_made_of() {
        let rates = Rates::default();
        assert_eq!(Tariff::new(rates, Value::Null).rates(), Ok(rates));
    }
}
