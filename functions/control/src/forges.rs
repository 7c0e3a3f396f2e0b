//! A run's access to the git host of its repository, as its runner gets it.

use awo_domain::control::GitCredential;
use awo_domain::forge::{ForgeSetting, GitHostName};
use awo_domain::source::Repository;
use awo_domain::{Error, OrgId};
use url::Url;

use crate::State;

/// Credentials and forge of a repository's host.
#[derive(Default)]
pub struct GitAccess {
    pub credentials: Vec<GitCredential>,
    pub forge: Option<ForgeSetting>,
}

/// The organization's token for the host that the repository is on, and the host's forge, as far as
/// they are set.
pub async fn of(state: &State, org: &OrgId, repository: &Repository) -> Result<GitAccess, Error> {
    let Some(host) = host_of(repository) else {
        return Ok(GitAccess::default());
    };
    let secret = format!("git:{host}");
    // A host of another form can have no setting.
    let name = GitHostName::parse(&host).ok();
    let setting = async {
        match &name {
            Some(name) => state.store.host(org, name).await,
            None => Ok(None),
        }
    };
    let (token, setting) = tokio::try_join!(state.secrets.get(org, &secret), setting)?;
    let credential = token.map(|token| GitCredential { host, token });
    Ok(GitAccess {
        credentials: credential.into_iter().collect(),
        forge: setting.and_then(|setting| setting.forge()),
    })
}

fn host_of(repository: &Repository) -> Option<String> {
    let url = Url::parse(repository.as_str())
        .ok()
        .filter(|url| url.scheme() == "https")?;
    let host = url.host_str()?;
    Some(
        url.port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")),
    )
}
