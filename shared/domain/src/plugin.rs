//! Verification plugins: a check of a workspace, and its level.
//!
//! The built-in ones are code and follow the plan; an organization may disable them. A custom one
//! is a command of the organization's: exit 0 is passed. A disabled plugin never runs.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::Timestamp;
use crate::names::variants;
use crate::verification::Level;

/// Most custom plugins of an organization: all of them go to a run, and are listed as one.
pub const MAX_PLUGINS: u32 = 50;
/// Longest part of a custom plugin's id behind its prefix, in bytes.
pub const MAX_ID_NAME: usize = 64;
/// Longest name, in characters.
pub const MAX_NAME: usize = 100;
/// Longest description, in characters.
pub const MAX_DESCRIPTION: usize = 1_000;
/// Most words of a command.
pub const MAX_WORDS: usize = 64;
/// Longest command, all its words together, in bytes.
pub const MAX_COMMAND_BYTES: usize = 8_192;
/// Wall time that a custom plugin's command can be given.
pub const TIMEOUT_MS: RangeInclusive<u64> = 1_000..=600_000;
/// Wall time of a command that is given none.
pub const DEFAULT_TIMEOUT_MS: u64 = 60_000;
/// Wall time that a plan can give a command of a built-in plugin at most.
pub const BUILT_IN_TIMEOUT_MS: u64 = 3_600_000;

/// When the built-in plugins came: 2026-11-20T00:00:00.000Z.
const BUILT_IN_AT_MS: i64 = 1_795_132_800_000;
const BUILT_IN: &str = "built-in:";
const CUSTOM: &str = "custom:";

/// The plugins that every organization has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, VariantArray)]
pub enum BuiltIn {
    /// L0.
    Contracts,
    /// L1.
    Tests,
    /// L2.
    Blackbox,
    /// L3.
    Sanity,
}

impl BuiltIn {
    /// All of them, by level.
    pub const ALL: [BuiltIn; BuiltIn::VARIANTS.len()] = variants();

    /// The whole id.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            BuiltIn::Contracts => "built-in:contracts",
            BuiltIn::Tests => "built-in:tests",
            BuiltIn::Blackbox => "built-in:blackbox",
            BuiltIn::Sanity => "built-in:sanity",
        }
    }

    /// Its level.
    #[must_use]
    pub fn level(self) -> Level {
        match self {
            BuiltIn::Contracts => Level::L0,
            BuiltIn::Tests => Level::L1,
            BuiltIn::Blackbox => Level::L2,
            BuiltIn::Sanity => Level::L3,
        }
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            BuiltIn::Contracts => (
                "Contracts",
                "Required and forbidden files, schemas, and commands such as linters.",
            ),
            BuiltIn::Tests => ("Tests", "The tests of the plan, or the detected tests."),
            BuiltIn::Blackbox => (
                "Blackbox",
                "Commands with their expected output and exit code.",
            ),
            BuiltIn::Sanity => (
                "Sanity",
                "Large files, debug leftovers, a clean tree and test coverage.",
            ),
        }
    }
}

/// The id of a plugin: a built-in one's, or `custom:` and 1 to 64 letters, digits, `.`, `_` and
/// `-`, of which the first is a letter or a digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PluginId {
    /// A plugin of the product.
    BuiltIn(BuiltIn),
    /// A plugin of the organization, by its whole id.
    Custom(String),
}

impl PluginId {
    /// Reads an id from outside.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str) -> Result<Self, String> {
        let built_in = BuiltIn::ALL.into_iter().find(|one| one.as_str() == text);
        if let Some(built_in) = built_in {
            return Ok(Self::BuiltIn(built_in));
        }
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let is_name = |name: &str| {
            (1..=MAX_ID_NAME).contains(&name.len())
                && name.bytes().all(allowed)
                && name.as_bytes()[0].is_ascii_alphanumeric()
        };
        match text.strip_prefix(CUSTOM) {
            Some(name) if is_name(name) => Ok(Self::Custom(text.to_owned())),
            _ => Err(format!(
                "must be {CUSTOM} followed by 1 to {MAX_ID_NAME} letters, digits, dots, \
                 underscores and hyphens, starting with a letter or digit"
            )),
        }
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::BuiltIn(one) => one.as_str(),
            Self::Custom(id) => id,
        }
    }

    /// True for every text that only the product's own plugins may have as an id.
    #[must_use]
    pub fn is_reserved(text: &str) -> bool {
        text.starts_with(BUILT_IN)
    }

    /// What stands behind the prefix.
    #[must_use]
    pub fn name(&self) -> &str {
        self.as_str().split_once(':').map_or("", |(_, name)| name)
    }
}

impl AsRef<str> for PluginId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for PluginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for PluginId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<PluginId> for String {
    fn from(id: PluginId) -> String {
        id.as_str().to_owned()
    }
}

/// A plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plugin {
    /// Its id, unique in its organization.
    pub id: PluginId,
    /// For people, and the name of a custom plugin's check.
    pub name: String,
    /// For people.
    pub description: String,
    /// When it runs, and what it gates.
    pub level: Level,
    /// Whether it runs at all.
    pub enabled: bool,
    /// The command of a custom plugin, word by word; the others execute the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Wall time of a custom plugin's command; the most that a plan can give one of a built-in's.
    pub timeout_ms: u64,
    /// When it was registered.
    pub created_at: Timestamp,
}

impl Plugin {
    /// A built-in plugin.
    #[must_use]
    pub fn built_in(which: BuiltIn, enabled: bool) -> Plugin {
        let (name, description) = which.words();
        Plugin {
            id: PluginId::BuiltIn(which),
            name: name.to_owned(),
            description: description.to_owned(),
            level: which.level(),
            enabled,
            command: None,
            timeout_ms: BUILT_IN_TIMEOUT_MS,
            created_at: Timestamp::from_epoch_ms(BUILT_IN_AT_MS),
        }
    }

    /// The plugins of an organization that has changed nothing.
    #[must_use]
    pub fn all_built_in() -> Vec<Plugin> {
        let all = BuiltIn::ALL.into_iter();
        all.map(|which| Plugin::built_in(which, true)).collect()
    }

    /// True for a plugin of the product.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        matches!(self.id, PluginId::BuiltIn(_))
    }
}

/// Those that run, in the order in which they do: level by level, in each the built-in one first
/// and then the custom ones as they were registered. Without `ids` all that are enabled apply.
#[must_use]
pub fn applicable(
    mut plugins: Vec<Plugin>,
    levels: &[Level],
    ids: &[impl AsRef<str>],
) -> Vec<Plugin> {
    plugins.retain(|plugin| {
        plugin.enabled
            && levels.contains(&plugin.level)
            && (ids.is_empty() || ids.iter().any(|id| id.as_ref() == plugin.id.as_str()))
    });
    plugins.sort_by(|a, b| order(a).cmp(&order(b)));
    plugins
}

fn order(plugin: &Plugin) -> (Level, bool, Timestamp, &str) {
    let (level, id) = (plugin.level, plugin.id.as_str());
    (level, !plugin.is_built_in(), plugin.created_at, id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn custom(name: &str, level: Level, at_ms: i64) -> Plugin {
        Plugin {
            id: PluginId::parse(&format!("custom:{name}")).unwrap(),
            level,
            command: Some(vec!["true".to_owned()]),
            created_at: Timestamp::from_epoch_ms(at_ms),
            ..Plugin::built_in(BuiltIn::Tests, true)
        }
    }

    fn ids(plugins: &[Plugin]) -> Vec<&str> {
        plugins.iter().map(|plugin| plugin.id.as_str()).collect()
    }

    #[test]
    fn an_id_is_a_built_in_ones_or_custom_with_a_name() {
        for good in ["custom:a", "custom:A.b_c-9", "built-in:tests"] {
            let id = PluginId::parse(good).unwrap();
            assert_eq!(id.as_str(), good);
            assert_eq!(id.name(), good.split_once(':').unwrap().1);
        }
        let long = format!("custom:{}", "x".repeat(MAX_ID_NAME + 1));
        for bad in [
            "",
            "a",
            "custom:",
            "custom:-a",
            "custom:a b",
            "custom:a/b",
            "custom:é",
            "Custom:a",
            "built-in:",
            "built-in:other",
            "built-in:tests ",
            &long,
        ] {
            assert!(PluginId::parse(bad).is_err(), "{bad}");
        }
        assert!(PluginId::is_reserved("built-in:other") && !PluginId::is_reserved("custom:a"));
    }

    #[test]
    fn plugins_run_level_by_level_the_built_in_one_first_and_custom_last() {
        let mut plugins = vec![
            custom("z", Level::Custom, 1),
            custom("b", Level::L1, 3),
            custom("a", Level::L1, 2),
        ];
        plugins.extend(Plugin::all_built_in());
        let all = [Level::L0, Level::L1, Level::L2, Level::L3, Level::Custom];
        let wanted = [
            "built-in:contracts",
            "built-in:tests",
            "custom:a",
            "custom:b",
            "built-in:blackbox",
            "built-in:sanity",
            "custom:z",
        ];
        assert_eq!(
            ids(&applicable(plugins.clone(), &all, &[] as &[&str])),
            wanted
        );
        let some = [PluginId::parse("custom:b").unwrap(), plugins[3].id.clone()];
        let chosen = applicable(plugins.clone(), &all, &some);
        assert_eq!(ids(&chosen), ["built-in:contracts", "custom:b"]);
        plugins[1].enabled = false;
        let chosen = applicable(plugins.clone(), &[Level::L1], &[] as &[&str]);
        assert_eq!(ids(&chosen), ["built-in:tests", "custom:a"]);
        assert!(
            applicable(plugins, &all, &some[..1]).is_empty(),
            "a disabled one never runs"
        );
    }
}
