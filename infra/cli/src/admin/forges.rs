//! Forges of an organization's git hosts.

use awo_domain::OrgId;
use awo_domain::forge::{ApiUrl, ForgeKind, ForgeSetting, GitHostName};
use clap::Args;
use serde_json::{Value, json};

use super::stores::{Stores, refused};
use crate::arguments::names;
use crate::failure::Failure;

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
    #[arg(long, value_name = "URL", requires = "kind", value_parser = api_url)]
    api_url: Option<ApiUrl>,
    /// Remove the setting
    #[arg(long, group = "change")]
    reset: bool,
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
    if let Some(url) = &arguments.api_url {
        // The local service is in the network of its operator.
        let checked = url.check_reach(|_| stores.is_local);
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
