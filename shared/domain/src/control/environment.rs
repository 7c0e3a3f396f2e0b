//! The environment of a run as its runner gets it: with the values of its secrets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::environment::{
    Egress, EnvironmentName, EnvironmentRegistry, EnvironmentService, SecretPhase, SetupStep,
};

/// The environment of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEnvironment {
    /// Its name.
    pub name: EnvironmentName,
    /// Of every command.
    pub variables: BTreeMap<String, String>,
    /// By phase.
    pub secrets: Vec<SecretValue>,
    /// The names of secrets without a value.
    pub missing_secrets: Vec<String>,
    /// Before the agent, and in each clean checkout.
    pub setup: Vec<SetupStep>,
    /// Folders of the workspace, or with `~/` of the home.
    pub caches: Vec<String>,
    /// Registries with their credentials.
    pub registries: Vec<RegistryAccess>,
    /// What the run's task has beside the runner.
    #[serde(default)]
    pub services: Vec<ServicePort>,
    /// The hosts that its commands reach; all if there are none.
    #[serde(default, skip_serializing_if = "Egress::is_open")]
    pub egress: Egress,
}

/// A service, by where it listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServicePort {
    /// Its name.
    pub name: String,
    /// Its image.
    pub image: String,
    /// Its port on loopback.
    pub port: u16,
}

impl From<EnvironmentService> for ServicePort {
    fn from(service: EnvironmentService) -> ServicePort {
        ServicePort {
            name: service.name,
            image: service.image,
            port: service.port,
        }
    }
}

/// A secret with its value. Its `Debug` has the name alone.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretValue {
    /// The variable.
    pub name: String,
    /// When it exists; for a registry's, never.
    pub phases: Vec<SecretPhase>,
    /// The value.
    pub value: String,
}

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretValue {{ name: {:?}, .. }}", self.name)
    }
}

/// A registry with its credential. Its `Debug` has the registry alone.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistryAccess {
    /// The registry.
    pub registry: EnvironmentRegistry,
    /// A token, or `user:password`.
    pub credential: String,
}

impl std::fmt::Debug for RegistryAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RegistryAccess {{ registry: {:?}, .. }}", self.registry)
    }
}

impl RunEnvironment {
    /// The variables of a phase, secrets included.
    #[must_use]
    pub fn variables_in(&self, phase: SecretPhase) -> Vec<(&str, &str)> {
        let plain = self.variables.iter();
        let secret = (self.secrets.iter()).filter(|secret| secret.phases.contains(&phase));
        plain
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .chain(secret.map(|secret| (secret.name.as_str(), secret.value.as_str())))
            .collect()
    }

    /// Every value that must not be seen: of secrets and of registries.
    #[must_use]
    pub fn values(&self) -> Vec<&str> {
        let secrets = self.secrets.iter().map(|secret| secret.value.as_str());
        let registries = self.registries.iter().map(|one| one.credential.as_str());
        secrets.chain(registries).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: &str, phases: &[SecretPhase]) -> SecretValue {
        SecretValue {
            name: name.to_owned(),
            phases: phases.to_vec(),
            value: format!("value-of-{name}"),
        }
    }

    #[test]
    fn a_secret_exists_in_the_phases_that_it_names_and_is_never_shown() {
        let environment = RunEnvironment {
            name: EnvironmentName::parse("e").unwrap(),
            variables: BTreeMap::from([("MODE".to_owned(), "test".to_owned())]),
            secrets: vec![
                secret("S", &[SecretPhase::Setup]),
                secret("VA", &[SecretPhase::Verify, SecretPhase::Agent]),
                secret("NEVER", &[]),
            ],
            missing_secrets: Vec::new(),
            setup: Vec::new(),
            caches: Vec::new(),
            registries: Vec::new(),
            services: Vec::new(),
            egress: Egress::default(),
        };
        let names = |phase| -> Vec<&str> {
            let variables = environment.variables_in(phase).into_iter();
            variables.map(|(name, _)| name).collect()
        };
        assert_eq!(names(SecretPhase::Setup), ["MODE", "S"]);
        assert_eq!(names(SecretPhase::Verify), ["MODE", "VA"]);
        assert_eq!(names(SecretPhase::Agent), ["MODE", "VA"]);
        assert_eq!(environment.values().len(), 3);
        assert!(!format!("{environment:?}").contains("value-of"));
    }
}
