//! Access of an organization to the git host of a repository: a token of the organization's App for that
//! repository alone, else the organization's own token for the host. Runners get it for their run, and workers use
//! it for calls of the forge.

use std::time::Duration;

use awo_cloud::secrets::Secrets;
use awo_cloud::{Cloud, SetupError, settings};
use awo_domain::control::{CredentialKind, GitCredential};
use awo_domain::forge::{
    AppSetting, ForgeKind, ForgeSetting, GitHostName, HostSettings, app_secret,
};
use awo_domain::source::Repository;
use awo_domain::{Error, OrgId, Timestamp};
use awo_forges::{
    API_VARIABLES, AppKey, AppKeyFault, Fault, Forge, HostedRepository, Hosts, TokenScope,
    installation_token,
};
use awo_store::Store;
use tokio::time::timeout;
use url::{Host, Url};

mod forge_access;

pub use forge_access::{ForgeAccess, ForgeFault, answered};

/// Most submodules that a token is for.
const MAX_SUBMODULES: usize = 50;
/// Longest time in which a forge issues a token.
const ISSUE_LIMIT: Duration = Duration::from_secs(8);

/// Reason why an App issues no token.
#[derive(Debug, thiserror::Error)]
enum IssueError {
    /// The key is not among the secrets.
    #[error("it has no key")]
    NoKey,
    /// The secret is no key.
    #[error("its key {0}")]
    Key(AppKeyFault),
    /// The host has no Apps.
    #[error("the host is no GitHub")]
    OtherForge,
    /// The host does not issue one; its words.
    #[error("{0}")]
    Refused(String),
    /// The host may issue one later.
    #[error("the forge issued no token: {0}")]
    Later(String),
}

/// Credentials and forge of a repository's host.
#[derive(Default)]
pub struct GitAccess {
    /// The credential for the host.
    pub credential: Option<GitCredential>,
    /// The forge that the operator has set for the host.
    pub forge: Option<ForgeSetting>,
    /// The App that the operator has set for the host, and the forge that has it.
    app: Option<(AppSetting, Option<ForgeSetting>)>,
}

/// The git hosts of organizations.
#[derive(Debug, Clone)]
pub struct GitHosts {
    store: Store,
    secrets: Secrets,
    hosts: Hosts,
}

impl GitHosts {
    /// Reads the deployment's settings.
    ///
    /// # Errors
    /// When a setting is missing or not valid.
    pub fn new(cloud: &Cloud) -> Result<GitHosts, SetupError> {
        let [variable] = API_VARIABLES;
        let text = |name: &str| cloud.environment.get(name);
        let hosts = Hosts::from_env(&[variable], text, is_loopback);
        Ok(GitHosts {
            store: cloud.store()?,
            secrets: cloud.secrets()?,
            hosts: hosts.map_err(|why| settings::invalid(variable, why))?,
        })
    }

    /// The credential for the host that the repository is on, and the host's forge, as far as they are
    /// set.
    ///
    /// # Errors
    /// Internal, when DynamoDB, Secrets Manager or a forge that may answer later fails.
    pub async fn of(
        &self,
        org: &OrgId,
        repository: &Repository,
        now: Timestamp,
    ) -> Result<GitAccess, Error> {
        self.access(org, repository, TokenScope::Run, now).await
    }

    async fn access(
        &self,
        org: &OrgId,
        repository: &Repository,
        scope: TokenScope<'_>,
        now: Timestamp,
    ) -> Result<GitAccess, Error> {
        let Some(host) = host_of(repository) else {
            return Ok(GitAccess::default());
        };
        // A host of another form can have no setting.
        let name = GitHostName::parse(&host).ok();
        let setting = match &name {
            Some(name) => self.store.host(org, name).await?,
            None => None,
        };
        let mut credential = match &setting {
            Some(setting) => self.of_app(org, repository, (setting, scope), now).await?,
            None => None,
        };
        if credential.is_none() {
            let token = self.secrets.get(org, &format!("git:{host}")).await?;
            credential = token.map(|token| GitCredential::of_token(host, token));
        }
        Ok(GitAccess {
            credential,
            forge: setting.as_ref().and_then(HostSettings::forge),
            app: setting.and_then(|setting| Some((setting.app?, of_url(&setting)))),
        })
    }

    /// A token to read those of these submodules that the organization's App has, on the host of the repository and
    /// of its owner; none if there are none.
    ///
    /// # Errors
    /// As [`GitHosts::of`].
    pub async fn of_submodules(
        &self,
        org: &OrgId,
        repository: &Repository,
        urls: &[String],
        now: Timestamp,
    ) -> Result<Option<GitCredential>, Error> {
        let Some(own) = HostedRepository::parse(repository.as_str()) else {
            return Ok(None);
        };
        let hosted = urls.iter().take(MAX_SUBMODULES);
        let hosted = hosted.filter_map(|url| HostedRepository::parse(url));
        let is_near = |hosted: &HostedRepository| {
            let is_owned = hosted.path[0].eq_ignore_ascii_case(&own.path[0]);
            hosted.host == own.host && hosted.path.len() == 2 && is_owned
        };
        let mut names: Vec<String> = hosted
            .filter(is_near)
            .map(|hosted| hosted.path[1].clone())
            .collect();
        names.sort_unstable();
        names.dedup();
        let name = GitHostName::parse(&own.host);
        let (Ok(name), false) = (name, names.is_empty()) else {
            return Ok(None);
        };
        let Some(setting) = self.store.host(org, &name).await? else {
            return Ok(None);
        };
        let scope = TokenScope::Submodules(&names);
        self.of_app(org, repository, (&setting, scope), now).await
    }

    /// A token of the organization's App; none where it has no App, or the App does not have the
    /// repository. An answer that may be another one soon is an error, so that the runner asks again.
    async fn of_app(
        &self,
        org: &OrgId,
        repository: &Repository,
        (setting, scope): (&HostSettings, TokenScope<'_>),
        now: Timestamp,
    ) -> Result<Option<GitCredential>, Error> {
        let Some(app) = setting.app else {
            return Ok(None);
        };
        let pem = self.secrets.get(org, &app_secret(&setting.host)).await?;
        let issued = match pem.as_deref().map(AppKey::parse) {
            Some(Ok(key)) => {
                self.issue(repository, (setting, scope), (&key, app), now)
                    .await
            }
            Some(Err(why)) => Err(IssueError::Key(why)),
            None => Err(IssueError::NoKey),
        };
        match issued {
            Ok(issued) => Ok(issued),
            Err(why @ IssueError::Later(_)) => Err(Error::internal(why.to_string())),
            Err(why) => {
                tracing::warn!(
                    event = "app_token_not_issued",
                    org = org.as_str(),
                    host = setting.host.as_str(),
                    %why,
                    "the App of an organization issues no token"
                );
                Ok(None)
            }
        }
    }

    async fn issue(
        &self,
        repository: &Repository,
        (setting, scope): (&HostSettings, TokenScope<'_>),
        app: (&AppKey, AppSetting),
        now: Timestamp,
    ) -> Result<Option<GitCredential>, IssueError> {
        let hosted = HostedRepository::parse(repository.as_str());
        let forge = setting.forge().or_else(|| of_url(setting));
        let api = hosted.and_then(|hosted| Forge::api(&hosted, forge.as_ref(), &self.hosts));
        let Some(api) = api.filter(|api| api.kind == ForgeKind::Github) else {
            return Err(IssueError::OtherForge);
        };
        let token = installation_token(&api, &self.hosts, app, scope, now);
        let late = |_| IssueError::Later("it took too long".to_owned());
        let issued = timeout(ISSUE_LIMIT, token).await.map_err(late)?;
        let issued = issued.map_err(|fault| match fault {
            Fault::Again(why, _) => IssueError::Later(why),
            fault => IssueError::Refused(fault.into_words()),
        })?;
        Ok(issued.map(|issued| GitCredential {
            host: setting.host.as_str().to_owned(),
            token: issued.token,
            kind: Some(CredentialKind::App),
            expires_at: Some(issued.expires_at),
        }))
    }
}

/// A host that has an App is a GitHub's, whether or not its kind is set.
fn of_url(setting: &HostSettings) -> Option<ForgeSetting> {
    setting.app.map(|_| ForgeSetting {
        host: setting.host.clone(),
        kind: ForgeKind::Github,
        api_url: setting.api_url.clone(),
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

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        _ => false,
    }
}
