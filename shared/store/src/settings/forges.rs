//! What an operator has set about the git hosts of an organization: an item for each.

use awo_domain::forge::{ApiUrl, AppSetting, ForgeKind, ForgeSetting, GitHostName, HostSettings};
use awo_domain::{Error, OrgId};
use serde::Deserialize;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::{Key, forges};
use crate::engine::list::Slice;
use crate::engine::table::UpdateOutcome;

/// Most hosts that are listed.
const MAX_HOSTS: u32 = 100;

/// A host as it is stored.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ForgeItem {
    sk: GitHostName,
    kind: Option<ForgeKind>,
    api_url: Option<ApiUrl>,
    app_id: Option<u64>,
    installation_id: Option<u64>,
}

impl ForgeItem {
    fn read(self) -> HostSettings {
        let installation_id = self.installation_id;
        HostSettings {
            host: self.sk,
            kind: self.kind,
            api_url: self.api_url,
            app: self.app_id.map(|app_id| AppSetting {
                app_id,
                installation_id,
            }),
        }
    }
}

impl Store {
    /// The hosts about which something is set, by name.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn hosts(&self, org: &OrgId) -> Result<Vec<HostSettings>, Error> {
        let slice = Slice::of_partition(forges(org)).limit(MAX_HOSTS);
        let items: Vec<ForgeItem> = self.slice(slice).await?.items;
        let set = items.into_iter().map(ForgeItem::read);
        let mut hosts: Vec<HostSettings> = set
            .filter(|host| host.kind.is_some() || host.app.is_some())
            .collect();
        hosts.sort_by(|a, b| a.host.cmp(&b.host));
        Ok(hosts)
    }

    /// What is set about a host.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn host(
        &self,
        org: &OrgId,
        host: &GitHostName,
    ) -> Result<Option<HostSettings>, Error> {
        let item: Option<ForgeItem> = self.get(&Key::forge(org, host)).await?;
        Ok(item.map(ForgeItem::read))
    }

    /// Sets the forge of a host.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn set_forge(&self, org: &OrgId, forge: &ForgeSetting) -> Result<(), Error> {
        let change = Change::new()
            .set("kind", forge.kind)
            .set_or_remove("apiUrl", forge.api_url.as_ref());
        self.set_host(org, &forge.host, change).await
    }

    /// Removes what was set about the forge of a host.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn reset_forge(&self, org: &OrgId, host: &GitHostName) -> Result<(), Error> {
        let change = Change::new().remove("kind").remove("apiUrl");
        self.set_host(org, host, change).await
    }

    /// Sets the App of a host, or removes it.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn set_app(
        &self,
        org: &OrgId,
        host: &GitHostName,
        app: Option<AppSetting>,
    ) -> Result<(), Error> {
        let installation_id = app.and_then(|app| app.installation_id);
        let change = Change::new()
            .set_or_remove("appId", app.map(|app| app.app_id))
            .set_or_remove("installationId", installation_id);
        self.set_host(org, host, change).await
    }

    async fn set_host(&self, org: &OrgId, host: &GitHostName, change: Change) -> Result<(), Error> {
        let change = change.set("v", SCHEMA_VERSION);
        match self.update(&Key::forge(org, host), change).await? {
            UpdateOutcome::New(_) => Ok(()),
            UpdateOutcome::Refused(_) => {
                Err(Error::internal("an unconditional update was refused"))
            }
        }
    }
}
