//! Notes of which secrets of an environment are set. Their values are in another service, so a value is written before
//! its note, and a note removed before its value: without a note no run gets a value.

use awo_domain::environment::{EnvironmentName, Exposure, SecretName};
use awo_domain::{Error, OrgId, Resource, Timestamp};

use crate::Store;
use crate::engine::tries::Tries;
use crate::settings::environments::KnownEnvironment;

impl Store {
    /// The environment of this name, which has a secret of this name.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such environment or secret, [`Error::Conflict`] if it is inherited, or internal.
    pub async fn environment_with_secret(
        &self,
        org: &OrgId,
        name: &EnvironmentName,
        secret: &SecretName,
    ) -> Result<KnownEnvironment, Error> {
        let known = self.environment(org, name).await?;
        let known = known.ok_or(Error::NotFound(Resource::Environment))?;
        let needed = known.environment.content.needed_secrets();
        let needs_it = needed.contains(&secret.as_str());
        if let Some(parent) = &known.environment.content.extends
            && let Some(inherited) = self.environment(org, parent).await?
        {
            let of_parent = inherited.environment.content.needed_secrets();
            if of_parent.contains(&secret.as_str()) {
                return Err(Error::Conflict(format!(
                    "the secret {secret} of {name} is inherited from {parent}: set its value there"
                )));
            }
        }
        if needs_it {
            return Ok(known);
        }
        Err(Error::NotFound(Resource::EnvironmentSecret))
    }

    /// Notes since when the value of a secret counts, which was set for this exposure.
    ///
    /// # Errors
    /// [`Error::Conflict`] if a replacement has widened the exposure meanwhile, [`Error::NotFound`] if it has removed the
    /// secret, or internal.
    pub async fn note_set_secret(
        &self,
        org: &OrgId,
        name: &EnvironmentName,
        secret: &SecretName,
        bound_to: &Exposure,
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut tries = Tries::new("note_set_secret: the environment kept changing");
        loop {
            tries.next().await?;
            let known = self.environment_with_secret(org, name, secret).await?;
            let exposure = known.environment.content.exposure(secret.as_str());
            if !bound_to.covers(&exposure) {
                return Err(Error::Conflict(format!(
                    "the environment {name} was replaced, and gives the secret {secret} to other phases or registries: \
                     read it, then set the value again"
                )));
            }
            let mut noted = known.environment.clone();
            noted.set_secrets.insert(secret.as_str().to_owned(), now);
            if self.replace_environment(org, &known, &noted).await? {
                return Ok(());
            }
        }
    }

    /// Notes that the value of a secret does not count any more.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such environment or secret, or internal.
    pub async fn note_unset_secret(
        &self,
        org: &OrgId,
        name: &EnvironmentName,
        secret: &SecretName,
    ) -> Result<(), Error> {
        let mut tries = Tries::new("note_unset_secret: the environment kept changing");
        loop {
            tries.next().await?;
            let known = self.environment_with_secret(org, name, secret).await?;
            let mut noted = known.environment.clone();
            if noted.set_secrets.remove(secret.as_str()).is_none()
                || self.replace_environment(org, &known, &noted).await?
            {
                return Ok(());
            }
        }
    }
}
