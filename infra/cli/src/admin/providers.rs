//! Model providers of an organization: where they are called, and what answers Messages.

use awo_domain::OrgId;
use awo_domain::control::{BaseUrl, Provider};
use awo_store::settings::providers::ProviderChange;
use clap::Args;
use serde_json::{Value, json};

use super::stores::{Stores, refused};
use crate::arguments::names;
use crate::failure::Failure;

/// A change; the group `what` is its command's.
#[derive(Debug, Clone, Args)]
pub struct ProviderArguments {
    /// Model provider: anthropic and bedrock answer Messages instead of each other
    #[arg(long, group = "what", value_parser = names(Provider::ALL.map(Provider::as_str)))]
    provider: Option<String>,
    /// Base URL (https, without /v1) of a server that speaks the provider's protocol; the
    /// organization's key is sent there
    #[arg(long, value_name = "URL", requires = "provider", value_parser = base_url)]
    base_url: Option<BaseUrl>,
    /// Remove all settings: Messages are answered by Anthropic if there is a key, otherwise by
    /// Bedrock if the deployment has it
    #[arg(long, group = "what")]
    reset: bool,
}

/// Reads the base URL of a provider.
fn base_url(text: &str) -> Result<BaseUrl, String> {
    BaseUrl::parse(text)
}

/// Sets a provider; without one, all settings are removed.
pub(super) async fn set(
    stores: &Stores,
    org: &OrgId,
    arguments: &ProviderArguments,
) -> Result<Value, Failure> {
    let provider = if arguments.reset {
        None
    } else {
        arguments.provider.as_deref().and_then(Provider::parse)
    };
    let base_url = arguments.base_url.clone();
    if let Some(base_url) = &base_url {
        check(stores, provider, base_url)?;
    }
    stores.organization(org).await?;
    let change = change(provider, base_url);
    let set = stores.store.set_providers(org, &change).await;
    set.map_err(refused)?;
    let now = stores.store.providers(org).await.map_err(refused)?;
    let mut answer = json!(now);
    answer["orgId"] = json!(org);
    Ok(answer)
}

fn check(stores: &Stores, provider: Option<Provider>, base_url: &BaseUrl) -> Result<(), Failure> {
    if provider == Some(Provider::Bedrock) {
        let why = "--base-url is for anthropic and openai: Bedrock is called in the region that the \
                   deployment names";
        return Err(Failure::Usage(why.to_owned()));
    }
    if base_url.is_loopback() && !stores.is_local {
        let why =
            "--base-url must not be on loopback: there agents listen, and they would get the key";
        return Err(Failure::Usage(why.to_owned()));
    }
    Ok(())
}

fn change(provider: Option<Provider>, base_url: Option<BaseUrl>) -> ProviderChange {
    match provider {
        None => ProviderChange {
            messages_provider: Some(None),
            anthropic_base_url: Some(None),
            openai_base_url: Some(None),
        },
        Some(Provider::Openai) => ProviderChange {
            openai_base_url: Some(base_url),
            ..ProviderChange::default()
        },
        Some(Provider::Anthropic) => ProviderChange {
            messages_provider: Some(provider),
            anthropic_base_url: Some(base_url),
            ..ProviderChange::default()
        },
        // Anthropic's base URL stays for the day on which it answers again.
        Some(Provider::Bedrock) => ProviderChange {
            messages_provider: Some(provider),
            ..ProviderChange::default()
        },
    }
}
