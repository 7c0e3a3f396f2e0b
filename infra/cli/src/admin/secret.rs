//! Secrets of organizations. A value is never on a command line: it comes from standard input, or
//! is typed without echo.

use awo_domain::OrgId;
use awo_domain::environment::SECRET_BYTES;
use serde_json::{Value, json};

use super::stores::{Stores, refused, unset};
use crate::failure::Failure;
use crate::hidden_input;

/// Sets a secret to what is read.
pub async fn set(stores: &Stores, org: &OrgId, name: &str) -> Result<Value, Failure> {
    stores.organization(org).await?;
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
