//! Plugins and results as the API shows them.

use awo_domain::Timestamp;
use awo_domain::plugin::{Plugin, PluginId};
use awo_domain::verification::{CombinedResult, Level, PluginResult, Status};
use serde::Serialize;
use utoipa::ToSchema;

/// A plugin.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginShape<'a> {
    id: &'a PluginId,
    name: &'a str,
    description: &'a str,
    level: Level,
    enabled: bool,
    built_in: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a [String]>,
    timeout_ms: u64,
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
pub struct PluginsShape<'a> {
    items: Vec<PluginShape<'a>>,
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
pub struct SwitchShape {
    pub enabled: bool,
}

/// What a verification found.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationResultShape {
    overall_status: Status,
    results: Vec<PluginResult>,
    summary: String,
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
