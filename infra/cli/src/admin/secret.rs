//! Secrets of organizations. A value is never on a command line: it comes from standard input, or
//! is typed without echo.

use awo_domain::OrgId;
use serde_json::{Value, json};

use super::stores::{Stores, refused, unset};
use crate::failure::Failure;
use crate::hidden_input;

/// Sets a secret to what is read.
pub async fn set(stores: &Stores, org: &OrgId, name: &str) -> Result<Value, Failure> {
    stores.organization(org).await?;
    let value = hidden_input::read(&format!("Value of {name}")).await?;
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
        let why = format!("there is no secret {name:?} of this organization");
        return Err(Failure::Refused(why));
    }
    Ok(json!({ "orgId": org, "name": name, "deleted": true }))
}
