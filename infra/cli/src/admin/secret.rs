//! Secrets of organizations. A value is never on a command line: it comes from standard input, or
//! is typed without echo.

use awo_domain::OrgId;
use awo_domain::environment::{SECRET_BYTES, parse_secret_name};
use serde_json::{Value, json};

use super::stores::{Stores, refused, unset};
use crate::failure::Failure;
use crate::hidden_input;

/// Sets a secret to what is read.
pub async fn set(stores: &Stores, org: &OrgId, name: &str) -> Result<Value, Failure> {
    stores.organization(org).await?;
    check_owner(stores, org, name).await?;
    let value = hidden_input::read(&format!("Value of {name}")).await?;
    let is_of_environment = name.starts_with("env:");
    if is_of_environment && !SECRET_BYTES.contains(&value.len()) {
        let (least, most) = (SECRET_BYTES.start(), SECRET_BYTES.end());
        return Err(Failure::Usage(format!(
            "the value must have {least} to {most} bytes: a shorter one could not be masked in what \
             processes print"
        )));
    }
    let secrets = stores.cloud.secrets().map_err(unset)?;
    secrets.set(org, name, &value).await.map_err(refused)?;
    Ok(json!({ "orgId": org, "name": name }))
}

/// Refuses the name of an environment's secret which no environment has, before a value is asked for: a value under a
/// misspelt name would never be used.
async fn check_owner(stores: &Stores, org: &OrgId, name: &str) -> Result<(), Failure> {
    let Some((environment, secret)) = parse_secret_name(name).map_err(Failure::Usage)? else {
        return Ok(());
    };
    let stored = stores.store.environment(org, &environment);
    let Some(stored) = stored.await.map_err(refused)? else {
        return Err(Failure::Refused(format!(
            "not found (404): this organization has no environment {environment}; create it first, with the secret \
             {secret} in secrets or registries"
        )));
    };
    let names = stored.environment.content.needed_secrets();
    if names.contains(&secret.as_str()) {
        return Ok(());
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
    let secrets = stores.cloud.secrets().map_err(unset)?;
    if !secrets.delete(org, name).await.map_err(refused)? {
        let why = format!("this organization has no secret {name:?}");
        return Err(Failure::Refused(why));
    }
    Ok(json!({ "orgId": org, "name": name, "deleted": true }))
}
