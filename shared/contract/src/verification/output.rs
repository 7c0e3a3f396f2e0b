//! Plugins and results as the API shows them.

use awo_domain::Timestamp;
use awo_domain::plugin::{Plugin, PluginId};
use awo_domain::verification::{CombinedResult, Level, PluginResult, Status};
use serde::Serialize;
use utoipa::ToSchema;

/// A plugin.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = VerificationPlugin)]
pub struct PluginShape<'a> {
    /// Its id.
    id: &'a PluginId,
    /// For people.
    name: &'a str,
    /// Its description.
    description: &'a str,
    /// The level at which it runs.
    level: Level,
    /// False if it runs nowhere.
    enabled: bool,
    /// True if it belongs to the product: it can be disabled and not deleted.
    built_in: bool,
    /// Program and arguments; absent for a built-in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a [String]>,
    /// The longest that it may take, in milliseconds.
    timeout_ms: u64,
    /// When it was registered.
    created_at: Timestamp,
}

impl<'a> From<&'a Plugin> for PluginShape<'a> {
    fn from(plugin: &'a Plugin) -> PluginShape<'a> {
        PluginShape {
            id: &plugin.id,
            name: &plugin.name,
            description: &plugin.description,
            level: plugin.level,
            enabled: plugin.enabled,
            built_in: plugin.is_built_in(),
            command: plugin.command.as_deref(),
            timeout_ms: plugin.timeout_ms,
            created_at: plugin.created_at,
        }
    }
}

/// All plugins of an organization.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = VerificationPluginList)]
pub struct PluginsShape<'a> {
    /// The plugins: the built-in ones by level, then your own.
    items: Vec<PluginShape<'a>>,
    /// How many there are.
    total: usize,
}

impl<'a> From<&'a [Plugin]> for PluginsShape<'a> {
    fn from(plugins: &'a [Plugin]) -> PluginsShape<'a> {
        PluginsShape {
            items: plugins.iter().map(PluginShape::from).collect(),
            total: plugins.len(),
        }
    }
}

/// Whether a plugin runs from now on.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = VerificationPluginState)]
pub struct SwitchShape {
    /// True if the plugin runs from now on.
    pub enabled: bool,
}

/// The findings of a verification.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationResultShape {
    /// The worst status of the results.
    overall_status: Status,
    /// The findings of each plugin, by level.
    results: Vec<PluginResult>,
    /// One sentence.
    summary: String,
    /// How long it took, in milliseconds.
    duration_ms: u64,
}

impl From<CombinedResult> for VerificationResultShape {
    fn from(result: CombinedResult) -> VerificationResultShape {
        VerificationResultShape {
            overall_status: result.overall_status,
            results: result.results,
            summary: result.summary,
            duration_ms: result.duration_ms,
        }
    }
}
