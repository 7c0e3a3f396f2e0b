//! What an audit keeps of the environment of a run: what it says, with the hashes of values in their
//! place. Of secrets there is only the name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::{
    Containers, Egress, EnvironmentContent, EnvironmentName, EnvironmentRegistry,
    EnvironmentSecret, Size,
};

/// The environment of a run, for its audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentRecord {
    /// Its name.
    pub name: EnvironmentName,
    /// Lower-case hex SHA-256 of each variable's value.
    pub variables: BTreeMap<String, String>,
    /// By name.
    pub secrets: Vec<EnvironmentSecret>,
    /// The setup.
    pub setup: Vec<StepRecord>,
    /// The folders that are cached.
    pub caches: Vec<String>,
    /// With the names of their secrets.
    pub registries: Vec<EnvironmentRegistry>,
    /// The image, if it is not the deployment's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The size that the run is priced by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// The images of services by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, String>,
    /// The hosts that its commands reached; all if there are none.
    #[serde(default, skip_serializing_if = "Egress::is_open")]
    pub egress: Egress,
}

/// A command of the setup, for an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    /// Its name.
    pub name: String,
    /// Lower-case hex SHA-256 of the command.
    pub run_hash: String,
}

impl EnvironmentRecord {
    /// The record of an environment, for a run whose task has these containers and this size.
    #[must_use]
    pub fn of(
        name: &EnvironmentName,
        content: &EnvironmentContent,
        own: Option<&Containers>,
        size: Option<Size>,
    ) -> EnvironmentRecord {
        let variables = content.variables.iter();
        let steps = content.setup.iter().map(|step| StepRecord {
            name: step.name.clone(),
            run_hash: hash(&step.run),
        });
        let services = own.into_iter().flat_map(|own| &own.services);
        EnvironmentRecord {
            name: name.clone(),
            variables: variables
                .map(|(name, value)| (name.clone(), hash(value)))
                .collect(),
            secrets: content.secrets.clone(),
            setup: steps.collect(),
            caches: content.caches.clone(),
            registries: content.registries.clone(),
            image: own.and_then(|own| own.image.clone()),
            size,
            services: services
                .map(|service| (service.name.clone(), service.image.clone()))
                .collect(),
            egress: content.egress.clone(),
        }
    }
}

fn hash(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}
