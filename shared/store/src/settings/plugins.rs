//! Verification plugins of organizations. The built-in ones are code; only an organization's
//! switches of them are stored. All items of an organization are one small partition, so a run's
//! plugins are one read.
//!
//! A custom plugin and the count of its organization's plugins change in one transaction, so that
//! there are never more than [`MAX_PLUGINS`].

use awo_domain::plugin::{BuiltIn, MAX_PLUGINS, Plugin, PluginId};
use awo_domain::{Error, OrgId, Resource};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::idempotency::{NewResponse, RequestOutcome};
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, plugins};
use crate::engine::list::Slice;
use crate::engine::table::UpdateOutcome;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::settings::counted::create_outcome;

/// A plugin as it is stored; of a built-in one only whether it is enabled.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PluginItem {
    sk: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plugin: Option<Plugin>,
    enabled: bool,
    v: u32,
}

impl PluginItem {
    /// The plugin; none if this release does not know it.
    fn read(self) -> Option<Plugin> {
        match (PluginId::parse(&self.sk), self.plugin) {
            (Ok(PluginId::BuiltIn(which)), _) => Some(Plugin::built_in(which, self.enabled)),
            (Ok(PluginId::Custom(_)), Some(plugin)) => Some(Plugin {
                enabled: self.enabled,
                ..plugin
            }),
            _ => None,
        }
    }
}

impl Store {
    /// The built-in plugins by level, then the organization's own as they were registered.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn plugins(&self, org: &OrgId) -> Result<Vec<Plugin>, Error> {
        let most = MAX_PLUGINS + BuiltIn::ALL.len() as u32;
        let slice = Slice::of_partition(plugins(org)).limit(most);
        let items: Vec<PluginItem> = self.slice(slice).await?.items;
        let mut all = Plugin::all_built_in();
        let known = items.into_iter().filter_map(PluginItem::read);
        let (switched, mut custom): (Vec<Plugin>, Vec<Plugin>) =
            known.partition(Plugin::is_built_in);
        for plugin in &mut all {
            let stored = switched.iter().find(|stored| stored.id == plugin.id);
            plugin.enabled = stored.is_none_or(|stored| stored.enabled);
        }
        custom.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        all.extend(custom);
        Ok(all)
    }

    /// A plugin of this organization, or a built-in one.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn plugin(&self, org: &OrgId, id: &PluginId) -> Result<Option<Plugin>, Error> {
        let key = Key::plugin(org, id);
        let item: Option<PluginItem> = self.get(&key).await?;
        let untouched = match id {
            PluginId::BuiltIn(which) => Some(Plugin::built_in(*which, true)),
            PluginId::Custom(_) => None,
        };
        Ok(item.and_then(PluginItem::read).or(untouched))
    }

    /// Registers a custom plugin. `response` is what a replay of the same request gets.
    ///
    /// # Errors
    /// [`Error::Conflict`] if there is one of that id, or if there are too many;
    /// [`Error::IdempotencyMismatch`], or internal; in every case nothing was written.
    pub async fn register_plugin(
        &self,
        org: &OrgId,
        plugin: &Plugin,
        response: Option<&NewResponse<'_>>,
    ) -> Result<RequestOutcome, Error> {
        let item = PluginItem {
            sk: plugin.id.to_string(),
            plugin: Some(plugin.clone()),
            enabled: plugin.enabled,
            v: SCHEMA_VERSION,
        };
        let created = Transaction::new()
            .put(&Key::plugin(org, &plugin.id), &item)?
            .count_one_more(&Key::plugin_count(org), MAX_PLUGINS)
            .store_response(org, response, plugin.created_at)?
            .commit(self)
            .await?;
        let full =
            format!("your organization has {MAX_PLUGINS} plugins, the maximum: delete one first");
        let faults = (taken_plugin_id(&plugin.id), Error::Conflict(full));
        create_outcome(created, ItemKind::Plugin, None, response, faults)
    }

    /// Switches a plugin on or off.
    ///
    /// # Errors
    /// [`Error::NotFound`], or internal.
    pub async fn switch_plugin(
        &self,
        org: &OrgId,
        id: &PluginId,
        enabled: bool,
    ) -> Result<(), Error> {
        let change = Change::new().set("enabled", enabled);
        let change = match id {
            PluginId::BuiltIn(_) => change.set("v", SCHEMA_VERSION),
            PluginId::Custom(_) => change.when_present("pk"),
        };
        let key = Key::plugin(org, id);
        match self.update(&key, change).await? {
            UpdateOutcome::New(_) => Ok(()),
            UpdateOutcome::Refused(_) => Err(Error::NotFound(Resource::Plugin)),
        }
    }

    /// Removes a custom plugin.
    ///
    /// # Errors
    /// [`Error::NotFound`], or internal.
    pub async fn delete_plugin(&self, org: &OrgId, id: &PluginId) -> Result<(), Error> {
        let deleted = Transaction::new()
            .delete(&Key::plugin(org, id), Change::new().when_present("pk"))
            .count_one_less(&Key::plugin_count(org))
            .commit(self)
            .await?;
        match deleted {
            CommitOutcome::Yes => Ok(()),
            CommitOutcome::No(_) => Err(Error::NotFound(Resource::Plugin)),
        }
    }
}

/// There is a plugin of that id.
#[must_use]
pub fn taken_plugin_id(id: &PluginId) -> Error {
    Error::Conflict(format!(
        "the plugin {id} already exists: choose another id, or delete it first"
    ))
}
