//! Secrets of organizations, named `<stack>/<org>/<name>`: all stacks of an account share one
//! namespace, and a stack's policy covers only its own names. Only the control function, which
//! serves the runner, may read them.

use awo_domain::{Error, OrgId};
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::{DisplayErrorContext, SdkError};
use aws_sdk_secretsmanager::types::{Filter, FilterNameStringType};

/// Most pages of a list.
const MAX_PAGES: u32 = 100;

/// The organizations' secrets.
#[derive(Debug, Clone)]
pub struct Secrets {
    client: Client,
    stack: String,
}

impl Secrets {
    /// The secrets of this stack through this client.
    #[must_use]
    pub fn new(client: Client, stack: String) -> Secrets {
        Secrets { client, stack }
    }

    fn id(&self, org: &OrgId, name: &str) -> String {
        // Secrets Manager allows no colon in a name.
        format!("{}/{org}/{}", self.stack, name.replace(':', "/"))
    }

    /// A secret, if the organization has it. One that is marked for deletion is none.
    ///
    /// # Errors
    /// Internal, when Secrets Manager fails.
    pub async fn get(&self, org: &OrgId, name: &str) -> Result<Option<String>, Error> {
        let read = self.client.get_secret_value();
        let read = read.secret_id(self.id(org, name)).send().await;
        match read {
            Ok(found) => Ok(found.secret_string),
            Err(error) => match error.as_service_error() {
                Some(known)
                    if known.is_resource_not_found_exception()
                        || known.is_invalid_request_exception() =>
                {
                    Ok(None)
                }
                _ => Err(failed("GetSecretValue", &error)),
            },
        }
    }

    /// Sets a secret, new or not; one that is marked for deletion is restored first.
    ///
    /// # Errors
    /// Internal, when Secrets Manager fails.
    pub async fn set(&self, org: &OrgId, name: &str, value: &str) -> Result<(), Error> {
        let id = self.id(org, name);
        let put = || {
            let put = self.client.put_secret_value();
            put.secret_id(&id).secret_string(value).send()
        };
        let refused = match put().await {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        let known = refused.as_service_error();
        if known.is_some_and(|known| known.is_invalid_request_exception()) {
            let restored = self.client.restore_secret().secret_id(&id).send().await;
            restored.map_err(|error| failed("RestoreSecret", &error))?;
            let put = put().await;
            return put.map(|_| ()).map_err(|e| failed("PutSecretValue", &e));
        }
        if !known.is_some_and(|known| known.is_resource_not_found_exception()) {
            return Err(failed("PutSecretValue", &refused));
        }
        let create = self.client.create_secret();
        let made = create.name(&id).secret_string(value).send().await;
        made.map(|_| ()).map_err(|e| failed("CreateSecret", &e))
    }

    /// Marks a secret for deletion: from now on the organization has none. False if it had none.
    ///
    /// # Errors
    /// Internal, when Secrets Manager fails.
    pub async fn delete(&self, org: &OrgId, name: &str) -> Result<bool, Error> {
        let delete = self.client.delete_secret();
        match delete.secret_id(self.id(org, name)).send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(known)
                    if known.is_resource_not_found_exception()
                        || known.is_invalid_request_exception() =>
                {
                    Ok(false)
                }
                _ => Err(failed("DeleteSecret", &error)),
            },
        }
    }

    /// The names of the organization's secrets, sorted.
    ///
    /// # Errors
    /// Internal, when Secrets Manager fails, or there are more than [`MAX_PAGES`] pages.
    pub async fn names(&self, org: &OrgId) -> Result<Vec<String>, Error> {
        let prefix = self.id(org, "");
        let of_organization = Filter::builder()
            .key(FilterNameStringType::Name)
            .values(&prefix)
            .build();
        let (mut names, mut next) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let list = self.client.list_secrets().filters(of_organization.clone());
            let page = list.set_next_token(next).send().await;
            let page = page.map_err(|error| failed("ListSecrets", &error))?;
            let listed = page.secret_list.unwrap_or_default().into_iter();
            let listed = listed.filter_map(|secret| secret.name);
            // Without colons, as they were set.
            names.extend(
                listed.filter_map(|name| Some(name.strip_prefix(&prefix)?.replace('/', ":"))),
            );
            next = page.next_token;
            if next.is_none() {
                names.sort();
                return Ok(names);
            }
        }
        Err(Error::internal("ListSecrets: there are too many secrets"))
    }
}

fn failed<E, R>(call: &str, error: &SdkError<E, R>) -> Error
where
    E: std::error::Error + 'static,
    R: std::fmt::Debug,
{
    Error::internal(format!("{call}: {}", DisplayErrorContext(error)))
}
