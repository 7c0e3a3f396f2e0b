//! Forges of an organization's git hosts.

use awo_cloud::settings;
use awo_domain::OrgId;
use awo_domain::forge::{ApiUrl, AppSetting, ForgeKind, ForgeSetting, GitHostName, app_secret};
use awo_domain::webhook::address::Reach;
use awo_forges::AppKey;
use clap::Args;
use serde_json::{Value, json};

use super::stores::{Stores, refused, unset};
use crate::arguments::names;
use crate::failure::Failure;
use crate::hidden_input;

/// A change; the group `change` is its command's.
#[derive(Debug, Clone, Args)]
pub struct ForgeArguments {
    /// Git host, with its port where that is not 443, such as git.example.com
    #[arg(long, value_parser = host)]
    host: GitHostName,
    /// Kind of the forge on it; gitea is Forgejo as well. github.com, *.ghe.com, gitlab.com and
    /// codeberg.org are known
    #[arg(long, group = "change", value_parser = names(ForgeKind::ALL.map(ForgeKind::as_str)))]
    kind: Option<String>,
    /// URL of its API (https), where that is not /api/v3 (github), /api/v4 (gitlab) or /api/v1
    /// (gitea) of the host; the organization's token for the host is sent there
    #[arg(long, value_name = "URL", requires = "kind", conflicts_with = "reset", value_parser = api_url)]
    api_url: Option<ApiUrl>,
    /// Remove the setting
    #[arg(long, group = "change")]
    reset: bool,
}

/// A change of the App on a git host.
#[derive(Debug, Clone, Args)]
pub struct AppArguments {
    /// Git host of the App: github.com, or that of an Enterprise Server
    #[arg(long, value_parser = host)]
    host: GitHostName,
    /// Id of the App; its private key (PEM) is read from standard input
    #[arg(long, value_name = "N", group = "change")]
    app_id: Option<u64>,
    /// Id of its installation [default: the one that has the run's repository]
    #[arg(long, value_name = "ID", requires = "app_id", conflicts_with = "reset")]
    installation: Option<u64>,
    /// Remove the App and its key
    #[arg(long, group = "change")]
    reset: bool,
}

/// Sets the App of a host with its key, or removes both. Nothing is stored with a bad key.
pub(super) async fn set_app(
    stores: &Stores,
    org: &OrgId,
    arguments: &AppArguments,
) -> Result<Value, Failure> {
    let host = &arguments.host;
    let secret = app_secret(host);
    let secrets = stores.cloud.secrets().map_err(unset)?;
    let Some(app_id) = arguments.app_id else {
        stores.organization(org).await?;
        let reset = stores.store.set_app(org, host, None).await;
        reset.map_err(refused)?;
        secrets.delete(org, &secret).await.map_err(refused)?;
        return Ok(json!({ "orgId": org, "host": host }));
    };
    let pem = hidden_input::read_piped()?;
    let checked = AppKey::parse(&pem);
    checked.map_err(|why| Failure::Usage(format!("the key {why}")))?;
    stores.organization(org).await?;
    // The key first: an App without one issues nothing.
    secrets.set(org, &secret, &pem).await.map_err(refused)?;
    let app = AppSetting {
        app_id,
        installation_id: arguments.installation,
    };
    let set = stores.store.set_app(org, host, Some(app)).await;
    set.map_err(refused)?;
    let mut answer = json!(app);
    answer["orgId"] = json!(org);
    answer["host"] = json!(host);
    Ok(answer)
}

/// Reads a git host.
fn host(text: &str) -> Result<GitHostName, String> {
    GitHostName::parse(text)
}

/// Reads the URL of an API.
fn api_url(text: &str) -> Result<ApiUrl, String> {
    ApiUrl::parse(text)
}

/// Sets the forge of a host, or removes what was set.
pub(super) async fn set(
    stores: &Stores,
    org: &OrgId,
    arguments: &ForgeArguments,
) -> Result<Value, Failure> {
    // The local service is in the network of its operator.
    if let Some(url) = arguments.api_url.as_ref().filter(|_| !stores.is_local) {
        let listed = settings::private_hosts(&stores.cloud.environment, Reach::Public);
        let checked = url.check_reach(&listed.map_err(unset)?);
        checked.map_err(|why| Failure::Usage(format!("--api-url: {why}")))?;
    }
    stores.organization(org).await?;
    let host = &arguments.host;
    let kind = arguments.kind.as_deref().and_then(ForgeKind::parse);
    let Some(kind) = kind else {
        let reset = stores.store.reset_forge(org, host).await;
        reset.map_err(refused)?;
        return Ok(json!({ "orgId": org, "host": host }));
    };
    let forge = ForgeSetting {
        host: host.clone(),
        kind,
        api_url: arguments.api_url.clone(),
    };
    let set = stores.store.set_forge(org, &forge).await;
    set.map_err(refused)?;
    let mut answer = json!(forge);
    answer["orgId"] = json!(org);
    Ok(answer)
}
