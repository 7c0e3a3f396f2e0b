//! The forge that serves a repository, and its pull request for a result.

use awo_forges::{Forge, HostedRepository, Hosts};
use tokio::time::Instant;

use super::pull_request::{LIMIT, Opening};
use super::result::{OpenFailure, OpenPullRequest, PushedResult};

/// Opens the pull request of a result, or brings the one that is open up to date.
///
/// # Errors
/// Why there is none, without any secret.
pub(crate) async fn open(
    hosts: &Hosts,
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
    let mut credentials = spec.git_credentials.iter();
    let Some(credential) = credentials.find(|one| one.host == *host) else {
        return Err(OpenFailure::NotPossible(format!(
            "the organization has no token for {host}: have the operator set the secret git:{host}"
        )));
    };
    let path = api.path.join("/");
    let forge = Forge::connect(api, hosts, credential.token.trim());
    let opening = Opening {
        forge: forge.map_err(OpenFailure::Refused)?,
        host,
        path,
        pushed,
        deadline: Instant::now() + LIMIT,
    };
    opening.open().await
}
