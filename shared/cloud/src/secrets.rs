//! Secrets of organizations, named `awo/<org>/<name>`. Only the control function, which serves
//! the runner, may read them.

use awo_domain::{Error, OrgId};
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::DisplayErrorContext;

/// The organizations' secrets.
#[derive(Debug, Clone)]
pub struct Secrets {
    client: Client,
}

fn id(org: &OrgId, name: &str) -> String {
    // Secrets Manager allows no colon in a name.
    format!("awo/{org}/{}", name.replace(':', "/"))
}

impl Secrets {
    /// Secrets through this client.
    #[must_use]
    pub fn new(client: Client) -> Secrets {
        Secrets { client }
    }

    /// A secret, if the organization has it.
    ///
    /// # Errors
    /// Internal, when Secrets Manager fails.
    pub async fn get(&self, org: &OrgId, name: &str) -> Result<Option<String>, Error> {
        match self
            .client
            .get_secret_value()
            .secret_id(id(org, name))
            .send()
            .await
        {
            Ok(found) => Ok(found.secret_string),
            Err(e)
                if e.as_service_error()
                    .is_some_and(|e| e.is_resource_not_found_exception()) =>
            {
                Ok(None)
            }
            Err(e) => Err(Error::internal(format!(
                "GetSecretValue: {}",
                DisplayErrorContext(&e)
            ))),
        }
    }

    /// Sets a secret, new or not.
    ///
    /// # Errors
    /// Internal, when Secrets Manager fails.
    pub async fn set(&self, org: &OrgId, name: &str, value: &str) -> Result<(), Error> {
        let id = id(org, name);
        match self
            .client
            .put_secret_value()
            .secret_id(&id)
            .secret_string(value)
            .send()
            .await
        {
            Ok(_) => return Ok(()),
            Err(e)
                if e.as_service_error()
                    .is_some_and(|e| e.is_resource_not_found_exception()) => {}
            Err(e) => {
                return Err(Error::internal(format!(
                    "PutSecretValue: {}",
                    DisplayErrorContext(&e)
                )));
            }
        }
        let made = self
            .client
            .create_secret()
            .name(&id)
            .secret_string(value)
            .send()
            .await;
        made.map(|_| ())
            .map_err(|e| Error::internal(format!("CreateSecret: {}", DisplayErrorContext(&e))))
    }
}
