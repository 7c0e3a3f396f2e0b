//! The environment of a run as its runner gets it. Secrets are read at each claim, so a corrected value
//! counts from the next one on.

use std::collections::BTreeMap;

use awo_domain::control::{RegistryAccess, RunEnvironment, SecretValue, ServicePort};
use awo_domain::environment::{Containers, check_secret_value, secret_name};
use awo_domain::work_order::ChosenEnvironment;
use awo_domain::{Error, OrgId};

use crate::State;

/// The environment with the values of its secrets, which only the runner gets to know.
pub async fn of(
    state: &State,
    org: &OrgId,
    chosen: Option<ChosenEnvironment>,
    own: Option<Containers>,
) -> Result<Option<RunEnvironment>, Error> {
    let Some(ChosenEnvironment {
        name,
        content,
        secret_owners,
    }) = chosen
    else {
        return Ok(None);
    };
    let (mut values, mut missing_secrets) = (BTreeMap::new(), Vec::new());
    for secret in content.needed_secrets() {
        // A value that was unset may still be stored.
        let value = match secret_owners.get(secret) {
            Some(owner) => state.secrets.get(org, &secret_name(owner, secret)).await?,
            None => None,
        };
        match value.filter(|value| check_secret_value(value).is_ok()) {
            Some(value) => drop(values.insert(secret.to_owned(), value)),
            None => missing_secrets.push(secret.to_owned()),
        }
    }
    let value = |name: &str| values.get(name).cloned();
    let secrets = content.secrets.into_iter().filter_map(|secret| {
        Some(SecretValue {
            value: value(&secret.name)?,
            name: secret.name,
            phases: secret.phases,
        })
    });
    let registries = content.registries.into_iter().filter_map(|registry| {
        Some(RegistryAccess {
            credential: value(&registry.secret)?,
            registry,
        })
    });
    let services = own.into_iter().flat_map(|own| own.services);
    Ok(Some(RunEnvironment {
        name,
        variables: content.variables,
        secrets: secrets.collect(),
        missing_secrets,
        setup: content.setup,
        caches: content.caches,
        registries: registries.collect(),
        services: services.map(ServicePort::from).collect(),
        egress: content.egress,
    }))
}
