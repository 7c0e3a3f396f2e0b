//! Environments: where the commands of a run happen. Variables, secrets by phase, commands that set a
//! checkout up, folders that are cached, registries behind a proxy, the hosts that commands reach, and
//! the size of the task.
//!
//! An environment names secrets and holds none: their values are an operator's to set
//! ([`secret_name`]), and only the function that serves runners reads them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::Timestamp;

pub use inheritance::SecretOwners;
pub use name::EnvironmentName;
pub use record::{EnvironmentRecord, StepRecord};
pub use registries::{check_registry_name, check_scope};
pub use secret::{Exposure, SecretName, SetSecrets};
pub use size::Size;

mod containers;
mod egress;
mod faults;
mod inheritance;
mod name;
mod record;
mod registries;
mod secret;
mod size;

pub use containers::{
    AllowedImages, Containers, ContainersId, check_image, check_ready, check_service_image,
    check_service_name,
};
pub use egress::{Egress, EgressHosts, PhaseHosts, check_host};
pub use faults::{Deployment, check_cache, check_name};

/// Most environments of an organization.
pub const MAX_ENVIRONMENTS: u32 = 50;
/// Largest environment, in bytes of its JSON: all of an organization's are read to list them.
pub const MAX_ENVIRONMENT_BYTES: usize = 16_384;
/// Longest description, in characters.
pub const MAX_DESCRIPTION: usize = 1_000;
/// Most variables, of an environment and of a service.
pub const MAX_VARIABLES: usize = 100;
/// Longest name of a variable or a secret, in characters.
pub const MAX_NAME: usize = 128;
/// Longest value of a variable, in characters.
pub const MAX_VALUE: usize = 4_096;
/// Most secrets.
pub const MAX_SECRETS: usize = 30;
/// Length of a secret's value, in bytes.
pub const SECRET_BYTES: RangeInclusive<usize> = 1..=32_768;
/// Shortest value that is masked in what processes print, in bytes: a mask in the place of every shorter one would
/// hide half of an output.
pub const MIN_MASKED_BYTES: usize = 8;
/// Most commands of a setup.
pub const MAX_STEPS: usize = 20;
/// Longest name of a step, in characters.
pub const MAX_STEP_NAME: usize = 64;
/// Longest command, in characters.
pub const MAX_COMMAND: usize = 4_096;
/// Milliseconds that a step may take.
pub const STEP_MS: RangeInclusive<u64> = 1_000..=3_600_000;
/// Milliseconds that a step has which does not say.
pub const DEFAULT_STEP_MS: u64 = 600_000;
/// Most folders that are cached.
pub const MAX_CACHES: usize = 20;
/// Longest path of one, in characters.
pub const MAX_PATH: usize = 255;
/// Most registries.
pub const MAX_REGISTRIES: usize = 10;
/// Longest name of one, in characters.
pub const MAX_REGISTRY_NAME: usize = 64;
/// Most scopes of one.
pub const MAX_SCOPES: usize = 20;
/// Longest URL of one, in characters.
pub const MAX_URL: usize = 2_048;
/// Longest name of an image, in characters.
pub const MAX_IMAGE: usize = 512;
/// Longest name of an image without its digest, in characters: a task definition takes no longer one.
pub const MAX_IMAGE_NAME: usize = 255;
/// Longest name of a service, in characters.
pub const MAX_SERVICE_NAME: usize = 63;
/// Most services.
pub const MAX_SERVICES: usize = 5;
/// Most hosts that may be reached.
pub const MAX_HOSTS: usize = 100;

/// When a secret exists.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum SecretPhase {
    /// While the setup commands run.
    Setup,
    /// While the commands of the plan verify.
    Verify,
    /// While the agent works.
    Agent,
}

/// A secret by its name, which is the name of the variable that holds it, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentSecret {
    /// The variable.
    pub name: String,
    /// When it exists.
    pub phases: Vec<SecretPhase>,
}

/// A command of the setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetupStep {
    /// Its name in errors.
    pub name: String,
    /// Goes to `sh -c` in the checkout.
    pub run: String,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The kinds of registries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum RegistryKind {
    /// npm, and what speaks like it.
    Npm,
    /// A simple index of Python packages.
    Pypi,
    /// A sparse index of crates.
    Cargo,
    /// A Maven repository.
    Maven,
    /// A module proxy of Go.
    Go,
    /// Any host that takes a bearer token, or basic authentication.
    Generic,
}

/// A registry that wants a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentRegistry {
    /// Its kind.
    pub kind: RegistryKind,
    /// Where it is.
    pub url: String,
    /// The secret with its credential, which no phase needs to name.
    pub secret: String,
    /// Name of one of several registries of a kind, as its package manager knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Scopes of npm whose packages are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// True for one with a name or scopes that replaces the package manager's own registry, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
}

impl EnvironmentRegistry {
    /// True if it takes the place of the package manager's own registry.
    #[must_use]
    pub fn is_default(&self) -> bool {
        let is_plain = self.name.is_none() && self.scopes.is_empty();
        self.kind != RegistryKind::Generic && (self.default || is_plain)
    }
}

/// A container beside the runner's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentService {
    /// Its name in errors.
    pub name: String,
    /// Its image.
    pub image: String,
    /// Its port on loopback.
    pub port: u16,
    /// Its variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// A command in it that succeeds once it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
}

/// What a client may say of an environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentContent {
    /// The environment that it inherits from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<EnvironmentName>,
    /// For people.
    #[serde(default)]
    pub description: String,
    /// Of every command, in every phase.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// By phase.
    #[serde(default)]
    pub secrets: Vec<EnvironmentSecret>,
    /// Before the agent, and again in each clean checkout that is verified.
    #[serde(default)]
    pub setup: Vec<SetupStep>,
    /// Folders of the workspace, or with `~/` of the home.
    #[serde(default)]
    pub caches: Vec<String>,
    /// Behind a proxy that adds their credentials.
    #[serde(default)]
    pub registries: Vec<EnvironmentRegistry>,
    /// The task's image; the deployment's where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The task's size; the deployment's where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// Beside the runner.
    #[serde(default)]
    pub services: Vec<EnvironmentService>,
    /// The hosts that its commands may reach, by name or as `*.` and a name; all if there are none.
    #[serde(default)]
    pub egress: Egress,
}

/// An environment of an organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Its name, unique in its organization.
    pub name: EnvironmentName,
    /// What it says.
    pub content: EnvironmentContent,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last replaced.
    pub updated_at: Option<Timestamp>,
    /// Its secrets whose values count.
    pub set_secrets: SetSecrets,
}

/// Checks the value of a secret: its length, and that a variable of a process can hold it.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_secret_value(value: &str) -> Result<(), String> {
    if !SECRET_BYTES.contains(&value.len()) {
        let (least, most) = (SECRET_BYTES.start(), SECRET_BYTES.end());
        return Err(format!("must have {least} to {most} bytes"));
    }
    if value.contains('\0') {
        return Err("must not contain NUL, which no variable can hold".to_owned());
    }
    Ok(())
}

/// The name under which an operator sets the value of a secret.
#[must_use]
pub fn secret_name(environment: &EnvironmentName, secret: &str) -> String {
    format!("env:{environment}:{secret}")
}

/// The environment and the name of a secret that an operator sets, if it is one of an environment's.
///
/// # Errors
/// A sentence that says what is wrong with a name that begins with `env:`.
pub fn parse_secret_name(text: &str) -> Result<Option<(EnvironmentName, SecretName)>, String> {
    let Some(rest) = text.strip_prefix("env:") else {
        return Ok(None);
    };
    let (environment, name) = rest
        .split_once(':')
        .ok_or("must be env:<environment>:<NAME>")?;
    let environment = EnvironmentName::parse(environment)
        .map_err(|why| format!("names an environment, whose name {why}"))?;
    let name =
        SecretName::parse(name).map_err(|why| format!("ends with a secret's name, which {why}"))?;
    Ok(Some((environment, name)))
}

impl EnvironmentContent {
    /// The names of all secrets whose values a run needs, each once: those of its phases and those
    /// of its registries.
    #[must_use]
    pub fn needed_secrets(&self) -> Vec<&str> {
        let of_phases = self.secrets.iter().map(|secret| secret.name.as_str());
        let of_registries = self.registries.iter().map(|one| one.secret.as_str());
        let mut names: Vec<&str> = of_phases.chain(of_registries).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests;
