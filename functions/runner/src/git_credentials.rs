//! A run's credentials for its git hosts. One that has an end is renewed before it, and once when a host
//! refuses it: a run may outlast several.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use awo_domain::control::{GitCredential, RunnerEvent};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::control_client::{Backoff, CallError};
use crate::reporter::Reporter;

/// How long before its end a credential is renewed.
const MARGIN: Duration = Duration::from_secs(300);
/// How often the control API is asked for one credential.
const TRIES: u32 = 4;

/// The newest credentials. One call at a time renews them; the others wait for it.
#[derive(Clone)]
pub(crate) struct GitCredentials {
    newest: Arc<Mutex<Vec<GitCredential>>>,
    /// Absent where nothing is issued.
    reporter: Option<Reporter>,
    /// Each token that there was: no answer may show one.
    tokens: Arc<RwLock<Vec<String>>>,
}

impl GitCredentials {
    /// Credentials of a claim, and the issuer of others.
    pub(crate) fn new(credentials: &[GitCredential], reporter: Option<Reporter>) -> GitCredentials {
        let tokens = credentials.iter().map(|one| one.token.clone());
        GitCredentials {
            tokens: Arc::new(RwLock::new(tokens.collect())),
            newest: Arc::new(Mutex::new(credentials.to_vec())),
            reporter,
        }
    }

    /// Tokens that there are or were.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        tokens.clone()
    }

    /// Credentials that are good for a while; if no others are issued, for a moment.
    pub(crate) async fn valid(&self) -> Vec<GitCredential> {
        let mut newest = self.newest.lock().await;
        for credential in newest.iter_mut() {
            if left(credential).is_some_and(|left| left <= MARGIN) {
                self.renew(credential).await;
            }
        }
        newest.clone()
    }

    /// Other credentials than these, one of which was refused; none if these are all that there is.
    pub(crate) async fn instead_of(&self, refused: &[GitCredential]) -> Option<Vec<GitCredential>> {
        let mut newest = self.newest.lock().await;
        let mut is_renewed = false;
        for credential in newest.iter_mut().filter(|one| one.expires_at.is_some()) {
            // Another call may have renewed it.
            let is_same = refused.iter().any(|one| one.token == credential.token);
            is_renewed |= !is_same || self.renew(credential).await;
        }
        is_renewed.then(|| newest.clone())
    }

    /// Reports the credentials that the run begins with.
    pub(crate) async fn report(&self) {
        let newest = self.newest.lock().await.clone();
        for credential in &newest {
            self.report_one(credential).await;
        }
    }

    async fn report_one(&self, credential: &GitCredential) {
        // A service that does not name the kind does not know the event either.
        if let (Some(reporter), Some(kind)) = (&self.reporter, credential.kind) {
            let issued = RunnerEvent::CredentialsIssued {
                host: credential.host.clone(),
                kind,
                expires_at: credential.expires_at,
            };
            reporter.event(issued).await;
        }
    }

    /// Replaces a credential; true if there is another one now.
    async fn renew(&self, credential: &mut GitCredential) -> bool {
        let Some(reporter) = &self.reporter else {
            return false;
        };
        let issuer = reporter.credential_issuer();
        let mut backoff = Backoff::new();
        for last in (0..TRIES).rev() {
            match issuer.git_credential().await {
                Ok(issued) if issued.host == credential.host => {
                    self.hide(&issued.token);
                    *credential = issued;
                    self.report_one(credential).await;
                    return true;
                }
                Ok(_) => return false,
                Err(why @ CallError::Refused { .. }) => {
                    tracing::warn!(event = "git_credential_refused", %why, "no other credential for the git host");
                    return false;
                }
                Err(why) => {
                    tracing::warn!(event = "git_credential_not_issued", %why, "no other credential for the git host yet");
                }
            }
            if last > 0 {
                sleep(backoff.pause()).await;
            }
        }
        false
    }

    /// Adds a token to those that no answer may show.
    fn hide(&self, token: &str) {
        let mut tokens = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        tokens.push(token.to_owned());
    }
}

/// How long a credential is still good, if it has an end.
fn left(credential: &GitCredential) -> Option<Duration> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let end = u64::try_from(credential.expires_at?.epoch_ms()).unwrap_or(0);
    Some(Duration::from_millis(end).saturating_sub(now.unwrap_or_default()))
}
