//! The run's credentials for Bedrock: the control API issues them, and others before they expire.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use awo_domain::control::GitCredential;
use awo_domain::control::bedrock::SessionCredentials;
use http::StatusCode;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::control_client::{Backoff, CallError, ControlClient};
use crate::proxy::answer::NoAnswer;
use crate::proxy::refusal::Refusal;

/// How long before their end credentials are renewed.
const MARGIN: Duration = Duration::from_secs(300);
/// How often the control API is asked for one call.
const TRIES: u32 = 4;

/// Issues credentials, on the thread of the control API's connections.
#[derive(Clone)]
pub(crate) struct CredentialIssuer {
    client: ControlClient,
    control: Handle,
}

impl CredentialIssuer {
    pub(crate) fn new(client: ControlClient, control: Handle) -> CredentialIssuer {
        CredentialIssuer { client, control }
    }

    /// Another credential for the run's git host, or one to read these submodules there.
    pub(crate) async fn git_credential(
        &self,
        submodules: &[String],
    ) -> Result<GitCredential, CallError> {
        let (client, submodules) = (self.client.clone(), submodules.to_vec());
        let issued = self
            .control
            .spawn(async move { client.git_credential(&submodules).await });
        issued
            .await
            .unwrap_or_else(|why| Err(CallError::TryAgain(why.to_string())))
    }

    async fn issue(&self) -> Result<SessionCredentials, CallError> {
        let client = self.client.clone();
        let asked = self
            .control
            .spawn(async move { client.credentials().await });
        asked
            .await
            .unwrap_or_else(|why| Err(CallError::TryAgain(why.to_string())))
    }
}

/// The newest credentials. One call at a time renews them; the others wait for it.
pub(super) struct RunCredentials {
    issuer: CredentialIssuer,
    newest: Mutex<Option<SessionCredentials>>,
}

impl RunCredentials {
    pub(super) fn new(issuer: CredentialIssuer) -> RunCredentials {
        RunCredentials {
            issuer,
            newest: Mutex::new(None),
        }
    }

    /// Credentials that are good for a while; if no others are issued, for a moment.
    ///
    /// # Errors
    /// If there are none.
    pub(super) async fn valid(&self) -> Result<SessionCredentials, NoAnswer> {
        let mut newest = self.newest.lock().await;
        let left = newest.as_ref().map_or(Duration::ZERO, left);
        match newest.clone() {
            Some(known) if left > MARGIN => Ok(known),
            known => match self.issue().await {
                Ok(issued) => Ok(newest.insert(issued).clone()),
                Err(why) => known.filter(|_| !left.is_zero()).ok_or(why),
            },
        }
    }

    /// Others than these, which were refused.
    ///
    /// # Errors
    /// If there are none.
    pub(super) async fn instead_of(
        &self,
        refused: &SessionCredentials,
    ) -> Result<SessionCredentials, NoAnswer> {
        let mut newest = self.newest.lock().await;
        // Another call may have renewed them.
        match newest.clone().filter(|known| known != refused) {
            Some(renewed) => Ok(renewed),
            None => Ok(newest.insert(self.issue().await?).clone()),
        }
    }

    async fn issue(&self) -> Result<SessionCredentials, NoAnswer> {
        let mut backoff = Backoff::new();
        for last in (0..TRIES).rev() {
            match self.issuer.issue().await {
                Ok(issued) => return Ok(issued),
                Err(why @ CallError::Refused { .. }) => {
                    tracing::warn!(event = "credentials_refused", %why, "no credentials for bedrock");
                    let message = "this run gets no credentials for bedrock";
                    let refusal = Refusal::new(StatusCode::FORBIDDEN, message);
                    return Err(NoAnswer::Refused(refusal));
                }
                Err(why) => {
                    tracing::warn!(event = "credentials_not_issued", %why, "no credentials for bedrock yet");
                }
            }
            if last > 0 {
                sleep(backoff.pause()).await;
            }
        }
        let what = "bedrock could not be reached: the service issues no credentials for it now";
        Err(NoAnswer::Outage(what.to_owned()))
    }
}

/// How long credentials are still good.
fn left(credentials: &SessionCredentials) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let end = u64::try_from(credentials.expires_at.epoch_ms()).unwrap_or(0);
    Duration::from_millis(end).saturating_sub(now.unwrap_or_default())
}
