//! A run's credentials for its git hosts. One that has an end is renewed before it, and once when a host
//! refuses it: a run may outlast several.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use awo_domain::control::{CredentialKind, GitCredential, RunnerEvent};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::control_client::{Backoff, CallError};
use crate::reporter::Reporter;

/// How long before its end a credential is renewed.
const MARGIN: Duration = Duration::from_secs(300);
/// How often the control API is asked for one credential.
const TRIES: u32 = 4;
/// User name of basic authentication beside a token: the one forge that wants a certain name wants
/// this one.
const CREDENTIAL_USER: &str = "x-access-token";

/// The end of the name of a setting that has a credential.
pub(crate) const CREDENTIAL_KEY: &str = ".extraHeader";

/// Credential to read the submodules of the base, where one was issued, and their URLs.
#[derive(Default)]
struct SubmoduleAccess {
    urls: Vec<String>,
    credential: Option<GitCredential>,
}

/// The newest credentials. One call at a time renews them; the others wait for it.
#[derive(Clone)]
pub(crate) struct GitCredentials {
    newest: Arc<Mutex<Vec<GitCredential>>>,
    submodules: Arc<Mutex<SubmoduleAccess>>,
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
            submodules: Arc::default(),
            reporter,
        }
    }

    /// The text without any token that there is or was, however it is written.
    pub(crate) fn hidden_in(&self, text: String) -> String {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let pairs = tokens.iter().map(|token| pair(token));
        let secrets: Vec<String> = tokens.iter().cloned().chain(pairs).collect();
        without(&secrets, text)
    }

    /// True if the newest are an App's.
    pub(crate) async fn are_of_app(&self) -> bool {
        let newest = self.newest.lock().await;
        newest
            .iter()
            .any(|one| one.kind == Some(CredentialKind::App))
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
        let issued = self.issue(&[]).await;
        let Some(issued) = issued.filter(|issued| issued.host == credential.host) else {
            return false;
        };
        *credential = issued;
        true
    }

    /// A credential for the run's git host, or one to read these submodules there.
    async fn issue(&self, submodules: &[String]) -> Option<GitCredential> {
        let issuer = self.reporter.as_ref()?.credential_issuer();
        let mut backoff = Backoff::new();
        for last in (0..TRIES).rev() {
            match issuer.git_credential(submodules).await {
                Ok(issued) => {
                    self.hide(&issued.token);
                    self.report_one(&issued).await;
                    return Some(issued);
                }
                Err(why @ CallError::Refused { .. }) => {
                    tracing::warn!(event = "git_credential_refused", %why, "no other credential for the git host");
                    return None;
                }
                Err(why) => {
                    tracing::warn!(event = "git_credential_not_issued", %why, "no other credential for the git host yet");
                }
            }
            if last > 0 {
                sleep(backoff.pause()).await;
            }
        }
        None
    }

    /// Gets a credential to read the submodules that the base names, if the run's is an App's: that is for
    /// the run's repository alone.
    pub(crate) async fn name_submodules(&self, urls: Vec<String>) {
        if urls.is_empty() || !self.are_of_app().await {
            return;
        }
        let mut access = self.submodules.lock().await;
        access.credential = self.issue(&urls).await;
        access.urls = urls;
    }

    /// Credentials for submodules that the base names: the run's, unless they are an App's.
    pub(crate) async fn valid_for_submodules(&self) -> Vec<GitCredential> {
        if !self.are_of_app().await {
            return self.valid().await;
        }
        let mut access = self.submodules.lock().await;
        let left = access.credential.as_ref().and_then(left);
        if left.is_some_and(|left| left <= MARGIN) {
            let renewed = self.issue(&access.urls).await;
            access.credential = renewed.or(access.credential.take());
        }
        access.credential.iter().cloned().collect()
    }

    /// Adds a token to those that no answer may show.
    fn hide(&self, token: &str) {
        let mut tokens = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        tokens.push(token.to_owned());
    }
}

/// The configuration of a call to a remote with these credentials.
pub(crate) fn settings_of(
    credentials: &[GitCredential],
    ca_file: Option<&Path>,
) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for credential in credentials {
        let pair = pair(&credential.token);
        settings.push((
            format!("http.https://{}/{CREDENTIAL_KEY}", credential.host),
            format!("Authorization: Basic {pair}"),
        ));
    }
    if !credentials.is_empty() {
        // git would send the header on to wherever the first answer leads.
        settings.push(("http.followRedirects".to_owned(), "false".to_owned()));
    }
    if let Some(file) = ca_file {
        let file = file.to_string_lossy().into_owned();
        settings.push(("http.sslCAInfo".to_owned(), file));
    }
    settings
}

/// A token as basic authentication has it.
fn pair(token: &str) -> String {
    STANDARD.encode(format!("{CREDENTIAL_USER}:{token}"))
}

/// The text without any of the secrets.
pub(crate) fn without(secrets: &[String], text: String) -> String {
    let secrets = secrets.iter().filter(|secret| !secret.is_empty());
    secrets.fold(text, |text, secret| text.replace(secret.as_str(), "***"))
}

/// True if this host refused the credential itself.
pub(crate) fn is_refusal_of(host: &str, reported: &str) -> bool {
    let url = format!("https://{host}");
    let mut after = reported.match_indices(&url).map(|(at, _)| at + url.len());
    let refusals = [
        "Authentication failed",
        "returned error: 401",
        "could not read Username",
        "could not read Password",
    ];
    after.any(|at| reported[at..].starts_with(['/', '\'']))
        && refusals.iter().any(|part| reported.contains(part))
}

/// How long a credential is still good, if it has an end.
fn left(credential: &GitCredential) -> Option<Duration> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let end = u64::try_from(credential.expires_at?.epoch_ms()).unwrap_or(0);
    Some(Duration::from_millis(end).saturating_sub(now.unwrap_or_default()))
}
