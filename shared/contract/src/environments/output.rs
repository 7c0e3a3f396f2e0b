//! An environment as the API shows it. Of secrets it has the names, and whether they are set.

use std::collections::BTreeMap;

use awo_domain::Timestamp;
use awo_domain::environment::{
    Egress, Environment, EnvironmentName, EnvironmentRegistry, EnvironmentService, SecretPhase,
    SetupStep, Size,
};
use serde::Serialize;
use utoipa::ToSchema;

/// An environment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentShape<'a> {
    /// Its name.
    name: &'a EnvironmentName,
    /// The environment that it inherits from. The other members are its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    extends: Option<&'a EnvironmentName>,
    /// For people.
    description: &'a str,
    /// Of every command, in every phase.
    variables: &'a BTreeMap<String, String>,
    /// By phase.
    secrets: Vec<EnvironmentSecretStateShape<'a>>,
    /// Before the agent, and again in each clean checkout that is verified.
    setup: &'a [SetupStep],
    /// Folders of the workspace, or with `~/` of the home.
    caches: &'a [String],
    /// Behind a proxy that adds their credentials.
    registries: &'a [EnvironmentRegistry],
    /// The task's image; the deployment's where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'a str>,
    /// The task's size; the deployment's where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Size>,
    /// Beside the runner.
    services: &'a [EnvironmentService],
    /// The hosts that its commands may reach, by name or as `*.` and a name; all if there are none.
    egress: &'a Egress,
    /// When it was created.
    created_at: Timestamp,
    /// When it was replaced last.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
}

/// A secret of an environment, without its value.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentSecretStateShape<'a> {
    /// The variable.
    name: &'a str,
    /// When it exists.
    phases: &'a [SecretPhase],
    /// True if it has a value.
    set: bool,
    /// When its value was set last.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
}

impl<'a> EnvironmentShape<'a> {
    /// The shape of an environment with this parent, whose values of secrets it inherits.
    #[must_use]
    pub fn of(environment: &'a Environment, parent: Option<&Environment>) -> EnvironmentShape<'a> {
        let content = &environment.content;
        let secrets = content.secrets.iter().map(|secret| {
            let is_of_parent = |parent: &&Environment| {
                let names = parent.content.needed_secrets();
                names.contains(&secret.name.as_str())
            };
            let owner = parent.filter(is_of_parent).unwrap_or(environment);
            let updated_at = owner.set_secrets.get(&secret.name).copied();
            EnvironmentSecretStateShape {
                name: &secret.name,
                phases: &secret.phases,
                set: updated_at.is_some(),
                updated_at,
            }
        });
        EnvironmentShape {
            name: &environment.name,
            extends: content.extends.as_ref(),
            description: &content.description,
            variables: &content.variables,
            secrets: secrets.collect(),
            setup: &content.setup,
            caches: &content.caches,
            registries: &content.registries,
            image: content.image.as_deref(),
            size: content.size,
            services: &content.services,
            egress: &content.egress,
            created_at: environment.created_at,
            updated_at: environment.updated_at,
        }
    }
}
