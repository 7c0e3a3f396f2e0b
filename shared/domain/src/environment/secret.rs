//! Values of an environment's secrets: what each is bound to, and which count.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt;

use url::Url;

use super::{EnvironmentContent, SecretPhase, check_name};
use crate::Timestamp;

/// Name of a secret of an environment: `^[A-Za-z_][A-Za-z0-9_]{0,127}$`, and none that the service reserves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretName(String);

impl SecretName {
    /// Reads a name from outside.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str) -> Result<SecretName, String> {
        check_name(text).map(SecretName)
    }

    /// The name as a text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Secrets whose values count, with the time at which each was set.
pub type SetSecrets = BTreeMap<String, Timestamp>;

/// Processes and servers that get a secret's value: its phases, and the origins of its registries. A value is
/// bound to what it was set for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exposure {
    pub(super) phases: BTreeSet<SecretPhase>,
    pub(super) origins: BTreeSet<String>,
}

impl Exposure {
    /// True if nothing gets the value in `later` that does not get it here.
    #[must_use]
    pub fn covers(&self, later: &Exposure) -> bool {
        self.phases.is_superset(&later.phases) && self.origins.is_superset(&later.origins)
    }
}

impl EnvironmentContent {
    /// Returns what gets the value of a secret of this name.
    #[must_use]
    pub fn exposure(&self, secret: &str) -> Exposure {
        let of_name = self.secrets.iter().filter(|one| one.name == secret);
        let registries = self.registries.iter().filter(|one| one.secret == secret);
        Exposure {
            phases: of_name.flat_map(|one| one.phases.iter().copied()).collect(),
            origins: registries.map(|one| origin(&one.url)).collect(),
        }
    }

    /// Secrets that still count once `later` has replaced this content. A replacement by a key that may not set
    /// secrets unsets each one that gets a phase or an origin besides, and all if it extends another environment.
    #[must_use]
    pub fn still_set(
        &self,
        later: &EnvironmentContent,
        set: &SetSecrets,
        may_set_secrets: bool,
    ) -> SetSecrets {
        let needed = later.needed_secrets();
        let extends_another = later.extends.is_some() && later.extends != self.extends;
        let mut still_set = set.clone();
        still_set.retain(|name, _| {
            let is_covered = self.exposure(name).covers(&later.exposure(name));
            let is_bound = is_covered && !extends_another;
            needed.contains(&name.as_str()) && (may_set_secrets || is_bound)
        });
        still_set
    }
}

/// Scheme, host and port of a registry's URL.
fn origin(url: &str) -> String {
    let url = url.strip_prefix("sparse+").unwrap_or(url);
    Url::parse(url).map_or_else(|_| url.to_owned(), |url| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn content(value: Value) -> EnvironmentContent {
        serde_json::from_value(value).unwrap()
    }

    fn with(phases: &[&str], url: &str) -> EnvironmentContent {
        content(json!({
            "secrets": [{"name": "TOKEN", "phases": phases}],
            "registries": [{"kind": "npm", "url": url, "secret": "TOKEN"}],
        }))
    }

    #[test]
    fn a_value_is_bound_to_the_phases_and_origins_that_it_was_set_for() {
        let before = with(&["setup"], "https://npm.example.com/a/");
        let set = SetSecrets::from([("TOKEN".to_owned(), Timestamp::from_epoch_ms(1))]);
        for (later, is_set) in [
            (with(&["setup"], "https://npm.example.com/b/"), true),
            (
                with(&["setup", "agent"], "https://npm.example.com/a/"),
                false,
            ),
            (with(&["verify"], "https://npm.example.com/a/"), false),
            (with(&["setup"], "https://npm.example.com:8443/a/"), false),
            (with(&["setup"], "https://attacker.example.com/a/"), false),
            (
                content(json!({"secrets": [{"name": "TOKEN", "phases": ["setup"]}]})),
                true,
            ),
        ] {
            let still_set = before.still_set(&later, &set, false);
            assert_eq!(still_set.contains_key("TOKEN"), is_set, "{later:?}");
            assert_eq!(before.still_set(&later, &set, true), set);
        }
    }

    #[test]
    fn a_name_that_leaves_the_environment_is_unset_by_every_key() {
        let before = with(&["setup"], "https://npm.example.com/");
        let set = SetSecrets::from([("TOKEN".to_owned(), Timestamp::from_epoch_ms(1))]);
        let later = content(json!({}));
        assert!(before.still_set(&later, &set, true).is_empty());
    }
}
