//! The role with which runs call Amazon Bedrock. The control function assumes it for each run, with
//! tags that set runs apart in the account's bills and logs; runners get the credentials.

use awo_domain::control::bedrock::SessionCredentials;
use awo_domain::{Error, RunId, Timestamp};
use aws_sdk_sts::Client;
use aws_sdk_sts::error::DisplayErrorContext;
use aws_sdk_sts::types::Tag;

/// How long a session lasts, in seconds: the most for a role that another role assumes.
const SESSION_SECONDS: i32 = 3_600;

/// The role.
#[derive(Debug, Clone)]
pub struct ModelRole {
    client: Client,
    arn: String,
}

impl ModelRole {
    /// A role, assumed through this client.
    #[must_use]
    pub fn new(client: Client, arn: String) -> ModelRole {
        ModelRole { client, arn }
    }

    /// Credentials for a run.
    ///
    /// # Errors
    /// Internal, when STS fails.
    pub async fn assume(
        &self,
        run: &RunId,
        tags: &[(&str, String)],
    ) -> Result<SessionCredentials, Error> {
        let mut assume = self
            .client
            .assume_role()
            .role_arn(&self.arn)
            // A session has the run's name in the account's logs.
            .role_session_name(run.as_str())
            .duration_seconds(SESSION_SECONDS);
        for (name, value) in tags {
            let tag = Tag::builder().key(*name).value(value).build();
            assume = assume.tags(tag.map_err(Error::internal)?);
        }
        let assumed = assume.send().await.map_err(|error| {
            Error::internal(format!("AssumeRole: {}", DisplayErrorContext(&error)))
        })?;
        let credentials = assumed
            .credentials
            .ok_or_else(|| Error::internal("AssumeRole: an answer without credentials"))?;
        let expires_at = credentials.expiration.to_millis();
        Ok(SessionCredentials {
            access_key_id: credentials.access_key_id,
            secret_access_key: credentials.secret_access_key,
            session_token: credentials.session_token,
            expires_at: Timestamp::from_epoch_ms(expires_at.map_err(Error::internal)?),
        })
    }
}
