//! A client's request for a verification, read and checked. Names are resolved before the body is
//! read as a whole, so an unknown one is reported with the other faults.

use awo_contract::body::Object;
use awo_contract::verification::input::{VerificationBody, most_plugins};
use awo_domain::manual::Request;
use awo_domain::plugin::{Plugin, PluginId};
use awo_domain::profile::Profile;
use awo_domain::verification::Level;
use awo_domain::{Error, OrgId};
use awo_store::Store;

use crate::harness;

/// Every level, in order.
const LEVELS: [Level; 5] = [Level::L0, Level::L1, Level::L2, Level::L3, Level::Custom];
/// Longest name that can be a profile's, in characters.
const MAX_HARNESS: usize = 128;

/// What there is of what a body names.
#[derive(Debug, Default)]
pub struct NamedResources {
    profile: Option<Profile>,
    plugins: Vec<Plugin>,
}

/// The resources that a body names.
#[derive(Debug)]
pub struct ResourceNames {
    harness: Option<String>,
    plugins: bool,
}

/// Reads what a body names, before anything else of it.
pub fn read_names(mut body: Object) -> ResourceNames {
    let harness = body.optional("harness", |v| v.text(1..=MAX_HARNESS));
    let plugins = body.optional("pluginIds", |v| v.list(1..=most_plugins(), |_| Some(())));
    ResourceNames {
        harness,
        plugins: plugins.is_some(),
    }
}

/// Reads the resources that a body names.
pub async fn read_named(
    store: &Store,
    org: &OrgId,
    named: &ResourceNames,
) -> Result<NamedResources, Error> {
    let profile = async {
        match &named.harness {
            Some(name) => harness::profile(store, org, name).await,
            None => Ok(None),
        }
    };
    let plugins = async {
        if named.plugins {
            store.plugins(org).await
        } else {
            Ok(Vec::new())
        }
    };
    let (profile, plugins) = tokio::try_join!(profile, plugins)?;
    Ok(NamedResources { profile, plugins })
}

/// Reads the body.
pub fn read_request(body: Object, resources: &NamedResources) -> Result<Request, Error> {
    let request = body.read(&VerificationBody {
        harness: |name: &str| resources.has_profile(name),
        plugin: |id: &str| resources.plugin(id),
    })?;
    Ok(Request {
        levels: resources.levels(&request.levels),
        plugin_ids: resources.chosen(request.plugin_ids),
        ..request
    })
}

impl NamedResources {
    fn has_profile(&self, name: &str) -> Result<(), String> {
        let found = self.profile.as_ref();
        found.filter(|profile| profile.name == name).map_or_else(
            || Err("must name a profile of your organization".to_owned()),
            |_| Ok(()),
        )
    }

    fn plugin(&self, id: &str) -> Result<PluginId, String> {
        let found = self.plugins.iter().find(|plugin| plugin.id.as_str() == id);
        let found = found.map(|plugin| plugin.id.clone());
        found.ok_or_else(|| "must name a plugin of your organization".to_owned())
    }

    /// The plugins of the request, else those of the profile; all if neither names any.
    fn chosen(&self, asked: Vec<PluginId>) -> Vec<PluginId> {
        match &self.profile {
            Some(profile) if asked.is_empty() => {
                let ids = profile.verification.plugin_ids.iter();
                ids.filter_map(|id| PluginId::parse(id).ok()).collect()
            }
            _ => asked,
        }
    }

    /// The levels of the profile, or all; of these the ones that are asked for, if any are.
    fn levels(&self, requested: &[Level]) -> Vec<Level> {
        let mut levels = match &self.profile {
            Some(profile) => profile.levels(),
            None => LEVELS.to_vec(),
        };
        levels.retain(|level| requested.is_empty() || requested.contains(level));
        levels
    }
}
