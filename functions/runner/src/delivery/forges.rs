//! The forge that serves a repository, and its pull request for a result.

use std::time::Duration;

use awo_domain::control::{GitCredential, RunSpec};
use awo_forges::{Forge, HostedRepository, Hosts, PullRequestStatus};
use tokio::time::{Instant, timeout};

use crate::git_credentials::GitCredentials;

use super::pull_request::{LIMIT, Opening};
use super::result::{OpenFailure, OpenPullRequest, PushedResult};

/// Longest wait for the state of a pull request.
const STATE_LIMIT: Duration = Duration::from_secs(10);

/// True if the pull request of the run's thread is merged or closed. A forge that does not answer leaves it open:
/// the branch decides then, and delivery looks for an open pull request again.
pub(crate) async fn is_over(hosts: &Hosts, credentials: &GitCredentials, spec: &RunSpec) -> bool {
    let thread = spec.thread.as_deref();
    let Some(url) = thread.and_then(|thread| thread.pull_request.as_ref()) else {
        return false;
    };
    let hosted = HostedRepository::parse(spec.source.repository.as_str());
    let (Some(hosted), Some(number)) = (hosted, url.number()) else {
        return false;
    };
    let Some(api) = Forge::api(&hosted, spec.forge.as_ref(), hosts) else {
        return false;
    };
    let valid = credentials.valid().await;
    let Some(credential) = valid.iter().find(|one| one.host == hosted.host) else {
        return false;
    };
    let Ok(forge) = Forge::connect(api, hosts, credential.token.trim()) else {
        return false;
    };
    match timeout(STATE_LIMIT, forge.state(number)).await {
        Ok(Ok(state)) => state.status != PullRequestStatus::Open,
        Ok(Err(why)) => {
            tracing::warn!(event = "pull_request_unknown", why = ?why, "the state of the thread's pull request is not known");
            false
        }
        Err(_) => false,
    }
}

/// Opens the pull request of a result, or brings the one that is open up to date.
///
/// # Errors
/// Why there is none, without any secret.
pub(crate) async fn open(
    hosts: &Hosts,
    credentials: &GitCredentials,
    pushed: &PushedResult<'_>,
) -> Result<OpenPullRequest, OpenFailure> {
    let spec = pushed.spec;
    let url = spec.source.repository.as_str();
    let hosted = HostedRepository::parse(url).ok_or_else(|| {
        OpenFailure::NotPossible(format!(
            "{url} is not a repository on a GitHub host, nor on one of another forge"
        ))
    })?;
    let host = &hosted.host;
    let api = Forge::api(&hosted, spec.forge.as_ref(), hosts).ok_or_else(|| {
        OpenFailure::NotPossible(format!(
            "{url} is not a repository on a GitHub host: if {host} has another forge, have the \
             operator name it with awo admin set-forge --host {host}"
        ))
    })?;
    let valid = credentials.valid().await;
    let Some(credential) = valid.iter().find(|one| one.host == *host) else {
        return Err(OpenFailure::NotPossible(format!(
            "the organization has no token for {host}: have the operator set the secret git:{host}"
        )));
    };
    let deadline = Instant::now() + LIMIT;
    let open = async |credential: &GitCredential| {
        let forge = Forge::connect(api.clone(), hosts, credential.token.trim());
        let opening = Opening {
            forge: forge.map_err(OpenFailure::Refused)?,
            host,
            path: api.path.join("/"),
            pushed,
            deadline,
        };
        opening.open().await
    };
    let refused = match open(credential).await {
        Err(OpenFailure::Unauthorized(why)) => why,
        opened => return opened,
    };
    let others = credentials.instead_of(&valid).await.unwrap_or_default();
    match others.iter().find(|one| one.host == *host) {
        Some(other) => open(other).await,
        None => Err(OpenFailure::Unauthorized(refused)),
    }
}
