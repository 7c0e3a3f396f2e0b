//! Secrets of organizations. A value is never on a command line: it comes from standard input, or
//! is typed without echo.

use awo_domain::environment::{
    EnvironmentName, Exposure, SecretName, check_secret_value, parse_secret_name,
};
use awo_domain::{Error, OrgId};
use serde_json::{Value, json};

use super::stores::{Stores, refused, unset};
use crate::failure::Failure;
use crate::hidden_input;

/// Sets a secret to what is read.
pub async fn set(stores: &Stores, org: &OrgId, name: &str) -> Result<Value, Failure> {
    stores.organization(org).await?;
    let owner = owner(stores, org, name).await?;
    let value = hidden_input::read(&format!("Value of {name}")).await?;
    if owner.is_some() {
        check_secret_value(&value).map_err(|why| Failure::Usage(format!("the value {why}")))?;
    }
    let secrets = stores.cloud.secrets().map_err(unset)?;
    secrets.set(org, name, &value).await.map_err(refused)?;
    if let Some((environment, secret, bound_to)) = &owner {
        let now = stores.cloud.clock.now();
        let noted = stores
            .store
            .note_set_secret(org, environment, secret, bound_to, now);
        noted.await.map_err(refused)?;
    }
    Ok(json!({ "orgId": org, "name": name }))
}

/// The environment and the name of a secret below `env:`. A name that no environment has is refused before a value is
/// asked for: a value under a misspelt name would never be used.
async fn owner(
    stores: &Stores,
    org: &OrgId,
    name: &str,
) -> Result<Option<(EnvironmentName, SecretName, Exposure)>, Failure> {
    let Some((environment, secret)) = parse_secret_name(name).map_err(Failure::Usage)? else {
        return Ok(None);
    };
    let stored = stores.store.environment(org, &environment);
    let Some(stored) = stored.await.map_err(refused)? else {
        return Err(Failure::Refused(format!(
            "not found (404): this organization has no environment {environment}; create it first, with the secret \
             {secret} in secrets or registries"
        )));
    };
    let content = &stored.environment.content;
    let names = content.needed_secrets();
    if names.contains(&secret.as_str()) {
        let bound_to = content.exposure(secret.as_str());
        return Ok(Some((environment, secret, bound_to)));
    }
    let listed = match names.join(", ") {
        none if none.is_empty() => "it has none".to_owned(),
        listed => format!("it has {listed}"),
    };
    Err(Failure::Refused(format!(
        "not found (404): the environment {environment} has no secret {secret} ({listed}): add it to the environment's \
         secrets or registries first"
    )))
}

/// The names of the secrets.
pub async fn list(stores: &Stores, org: &OrgId) -> Result<Value, Failure> {
    stores.organization(org).await?;
    let secrets = stores.cloud.secrets().map_err(unset)?;
    let names = secrets.names(org).await.map_err(refused)?;
    Ok(json!({ "orgId": org, "secrets": names }))
}

/// Deletes a secret.
pub async fn delete(stores: &Stores, org: &OrgId, name: &str) -> Result<Value, Failure> {
    stores.organization(org).await?;
    if let Some((environment, secret)) = parse_secret_name(name).map_err(Failure::Usage)? {
        let noted = stores.store.note_unset_secret(org, &environment, &secret);
        match noted.await {
            // A value may outlive its environment.
            Ok(()) | Err(Error::NotFound(_)) => {}
            Err(error) => return Err(refused(error)),
        }
    }
    let secrets = stores.cloud.secrets().map_err(unset)?;
    if !secrets.delete(org, name).await.map_err(refused)? {
        let why = format!("this organization has no secret {name:?}");
        return Err(Failure::Refused(why));
    }
    Ok(json!({ "orgId": org, "name": name, "deleted": true }))
}
