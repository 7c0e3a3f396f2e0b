//! An environment that extends another: lists add, and names override.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Egress, EnvironmentContent, EnvironmentName, EnvironmentRegistry, Exposure, PhaseHosts,
    RegistryKind, SecretPhase,
};
use crate::{Error, Fault};

/// Secrets that are set, with the environment under whose name each value is stored.
pub type SecretOwners = BTreeMap<String, EnvironmentName>;

impl EnvironmentContent {
    /// Returns this content with what it inherits from its parent.
    #[must_use]
    pub fn with_parent(&self, parent: &EnvironmentContent) -> EnvironmentContent {
        let own_variables = self.variables.keys().map(String::as_str);
        let own_secrets = self.secrets.iter().map(|secret| secret.name.as_str());
        let own_names: BTreeSet<&str> = own_variables.chain(own_secrets).collect();
        let is_inherited = |name: &str| !own_names.contains(name);
        let variables = parent
            .variables
            .iter()
            .filter(|(name, _)| is_inherited(name));
        let secrets = parent.secrets.iter();
        let secrets = secrets.filter(|secret| is_inherited(&secret.name));
        let registries = parent.registries.iter();
        let registries = registries.filter(|inherited| {
            !self
                .registries
                .iter()
                .any(|own| takes_place_of(own, inherited))
        });
        let caches = parent.caches.iter();
        let caches = caches.filter(|path| !self.caches.contains(path));
        EnvironmentContent {
            extends: self.extends.clone(),
            description: self.description.clone(),
            variables: variables
                .chain(&self.variables)
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            secrets: secrets.chain(&self.secrets).cloned().collect(),
            setup: overridden(&parent.setup, &self.setup, |step| &step.name),
            caches: caches.chain(&self.caches).cloned().collect(),
            registries: registries.chain(&self.registries).cloned().collect(),
            image: self.image.clone().or_else(|| parent.image.clone()),
            size: self.size.or(parent.size),
            services: overridden(&parent.services, &self.services, |service| &service.name),
            egress: both(&parent.egress, &self.egress),
        }
    }

    /// Checks that a replacement, which a key makes that may not set secrets, gives no inherited value to phases and
    /// registries that have it neither in the parent nor in `before`, both of which may have it now.
    ///
    /// # Errors
    /// [`Error::MissingScope`], which names the secret.
    pub fn check_inherited(
        &self,
        parent: &EnvironmentContent,
        before: Option<&EnvironmentContent>,
    ) -> Result<(), Error> {
        let (later, before) = (
            self.with_parent(parent),
            before.map(|before| before.with_parent(parent)),
        );
        for name in parent.needed_secrets() {
            let known = before.as_ref().map(|before| before.exposure(name));
            let known = known.unwrap_or_default().or(parent.exposure(name));
            if !known.covers(&later.exposure(name)) {
                return Err(Error::MissingScope(format!(
                    "environments:secrets, which giving the inherited secret {name} to other phases or registries needs"
                )));
            }
        }
        Ok(())
    }

    /// Faults that the content has only with what it inherits, at `/extends`.
    #[must_use]
    pub fn inherited_faults(&self, own: &[Fault], with_parent: Vec<Fault>) -> Vec<Fault> {
        let Some(parent) = self.extends.as_ref().filter(|_| own.is_empty()) else {
            return Vec::new();
        };
        let faults = with_parent.into_iter().map(|fault| Fault {
            path: "/extends".to_owned(),
            message: format!(
                "cannot be {parent}: with what that has, {} {}",
                fault.path, fault.message
            ),
        });
        faults.collect()
    }
}

impl Exposure {
    /// What gets a value in either.
    fn or(mut self, other: Exposure) -> Exposure {
        self.phases.extend(other.phases);
        self.origins.extend(other.origins);
        self
    }
}

/// True if a registry stands where an inherited one does: by its name, its scopes, or as the default.
fn takes_place_of(own: &EnvironmentRegistry, inherited: &EnvironmentRegistry) -> bool {
    let shares_scope = own
        .scopes
        .iter()
        .any(|scope| inherited.scopes.contains(scope));
    let is_same = match own.kind {
        RegistryKind::Generic => own.url == inherited.url,
        _ => own.is_default() && inherited.is_default(),
    };
    own.kind == inherited.kind
        && (is_same || shares_scope || (own.name.is_some() && own.name == inherited.name))
}

/// The inherited items, each replaced by the own one of its name, and then the other own ones.
fn overridden<T: Clone>(inherited: &[T], own: &[T], name: impl Fn(&T) -> &String) -> Vec<T> {
    let of_name = |items: &[T], item: &T| -> Option<T> {
        let same = items.iter().find(|other| name(other) == name(item));
        same.cloned()
    };
    let replaced = inherited
        .iter()
        .map(|item| of_name(own, item).unwrap_or_else(|| item.clone()));
    let added = own
        .iter()
        .filter(|item| of_name(inherited, item).is_none())
        .cloned();
    replaced.chain(added).collect()
}

/// Hosts of either, in the phases that one of them limits.
fn both(parent: &Egress, own: &Egress) -> Egress {
    if own.is_open() {
        return parent.clone();
    }
    match (parent, own) {
        (parent, own) if parent.is_open() => own.clone(),
        (Egress::All(hosts), Egress::All(own)) => Egress::All(united(hosts, own)),
        _ => {
            let in_phase = |phase| match (listed(parent, phase), listed(own, phase)) {
                (Some(hosts), Some(own)) => Some(united(hosts, own)),
                (Some(hosts), None) | (None, Some(hosts)) => Some(hosts.to_vec()),
                (None, None) => None,
            };
            Egress::ByPhase(PhaseHosts {
                setup: in_phase(SecretPhase::Setup),
                agent: in_phase(SecretPhase::Agent),
                verify: in_phase(SecretPhase::Verify),
            })
        }
    }
}

fn listed(egress: &Egress, phase: SecretPhase) -> Option<&[String]> {
    match egress {
        Egress::All(hosts) => (!hosts.is_empty()).then_some(hosts),
        Egress::ByPhase(by_phase) => match phase {
            SecretPhase::Setup => by_phase.setup.as_deref(),
            SecretPhase::Agent => by_phase.agent.as_deref(),
            SecretPhase::Verify => by_phase.verify.as_deref(),
        },
    }
}

fn united(first: &[String], second: &[String]) -> Vec<String> {
    let added = second.iter().filter(|host| !first.contains(host));
    first.iter().chain(added).cloned().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn content(value: Value) -> EnvironmentContent {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn lists_add_and_names_override() {
        let parent = content(json!({
            "description": "the parent",
            "variables": {"A": "1", "B": "1", "S": "plain"},
            "secrets": [{"name": "T", "phases": ["setup"]}, {"name": "U", "phases": ["agent"]}],
            "setup": [{"name": "one", "run": "1"}, {"name": "two", "run": "2"}],
            "caches": ["node_modules"],
            "registries": [
                {"kind": "npm", "url": "https://a.example.com/", "secret": "T"},
                {"kind": "npm", "url": "https://b.example.com/", "secret": "T", "scopes": ["@b"]},
            ],
            "size": "large",
            "egress": ["a.example.com"],
        }));
        let own = content(json!({
            "extends": "base",
            "variables": {"B": "2", "U": "plain"},
            "secrets": [{"name": "S", "phases": ["verify"]}],
            "setup": [{"name": "two", "run": "two"}, {"name": "three", "run": "3"}],
            "caches": ["~/.npm", "node_modules"],
            "registries": [{"kind": "npm", "url": "https://c.example.com/", "secret": "S"}],
            "egress": {"verify": ["c.example.com"]},
        }));
        let merged = content(json!({
            "extends": "base",
            "variables": {"A": "1", "B": "2", "U": "plain"},
            "secrets": [{"name": "T", "phases": ["setup"]}, {"name": "S", "phases": ["verify"]}],
            "setup": [
                {"name": "one", "run": "1"}, {"name": "two", "run": "two"},
                {"name": "three", "run": "3"},
            ],
            "caches": ["~/.npm", "node_modules"],
            "registries": [
                {"kind": "npm", "url": "https://b.example.com/", "secret": "T", "scopes": ["@b"]},
                {"kind": "npm", "url": "https://c.example.com/", "secret": "S"},
            ],
            "size": "large",
            "egress": {
                "setup": ["a.example.com"], "agent": ["a.example.com"],
                "verify": ["a.example.com", "c.example.com"],
            },
        }));
        assert_eq!(own.with_parent(&parent), merged);
        let nothing = content(json!({"extends": "base"}));
        let inherited = nothing.with_parent(&parent);
        let expected = EnvironmentContent {
            extends: nothing.extends.clone(),
            description: String::new(),
            ..parent
        };
        assert_eq!(inherited, expected);
    }

    #[test]
    fn an_inherited_secret_gets_no_wider_without_the_right_to_set_it() {
        let parent = content(json!({"secrets": [{"name": "T", "phases": ["setup"]}]}));
        let wider = content(json!({"secrets": [{"name": "T", "phases": ["setup", "agent"]}]}));
        let registry = json!({"kind": "npm", "url": "https://x.example.com/", "secret": "T"});
        let registry = content(json!({ "registries": [registry] }));
        for own in [&wider, &registry] {
            assert!(own.check_inherited(&parent, None).is_err());
            assert!(own.check_inherited(&parent, Some(&parent)).is_err());
            assert!(own.check_inherited(&parent, Some(own)).is_ok());
        }
        let other = content(json!({"secrets": [{"name": "MINE", "phases": ["agent"]}]}));
        assert!(other.check_inherited(&parent, None).is_ok());
    }
}
