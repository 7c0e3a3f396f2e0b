//! What an operator has set about an organization's model providers.

use awo_domain::control::{BaseUrl, Provider, ProviderSettings};
use awo_domain::{Error, OrgId};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::Key;
use crate::engine::table::UpdateOutcome;

/// A change of it: what is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderChange {
    /// What answers Messages; none for the rule of the deployment.
    pub messages_provider: Option<Option<Provider>>,
    /// Anthropic's base URL; none for its own.
    pub anthropic_base_url: Option<Option<BaseUrl>>,
    /// OpenAI's base URL; none for its own.
    pub openai_base_url: Option<Option<BaseUrl>>,
}

impl Store {
    /// What is set for an organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn providers(&self, org: &OrgId) -> Result<ProviderSettings, Error> {
        let set = self.get(&Key::providers(org)).await?;
        Ok(set.unwrap_or_default())
    }

    /// Changes what is set for an organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn set_providers(&self, org: &OrgId, change: &ProviderChange) -> Result<(), Error> {
        let mut changes = Change::new().set("v", SCHEMA_VERSION);
        changes = match change.messages_provider {
            Some(Some(provider)) => changes.set("messagesProvider", provider),
            Some(None) => changes.remove("messagesProvider"),
            None => changes,
        };
        let urls = [
            ("anthropicBaseUrl", &change.anthropic_base_url),
            ("openaiBaseUrl", &change.openai_base_url),
        ];
        for (name, url) in urls {
            changes = match url {
                Some(Some(url)) => changes.set(name, url),
                Some(None) => changes.remove(name),
                None => changes,
            };
        }
        let key = Key::providers(org);
        match self.update(&key, changes).await? {
            UpdateOutcome::New(_) => Ok(()),
            UpdateOutcome::Refused(_) => {
                Err(Error::internal("an unconditional update was refused"))
            }
        }
    }
}
