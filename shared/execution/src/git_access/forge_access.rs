//! Calls of a repository's forge with the organization's credential.

use awo_domain::control::{CredentialKind, GitCredential};
use awo_domain::forge::{AppSetting, GitHostName, app_secret};
use awo_domain::source::Repository;
use awo_domain::{Error, OrgId, Timestamp};
use awo_forges::{Api, AppKey, Fault, Forge, HostedRepository, TokenScope, app_login};
use awo_triggers::OwnAccount;
use tokio::time::timeout;

use super::{GitHosts, ISSUE_LIMIT};

/// Credential and API of a repository's forge, with the App that the operator has set for its host.
struct Connection {
    credential: GitCredential,
    api: Api,
    app: Option<AppSetting>,
}

/// A forge at a repository, with the account of its token.
pub struct ForgeAccess {
    /// The forge.
    pub forge: Forge,
    /// The accounts under which the service acts there.
    pub own: OwnAccount,
    /// True if the credential is a token of an App.
    pub is_app: bool,
}

/// Reason why a forge did not answer a question.
#[derive(Debug)]
pub enum ForgeFault {
    /// The forge may answer later.
    Later(String),
    /// The forge refuses.
    Refused(String),
    /// The failure is not the forge's.
    Internal(Error),
}

impl From<Error> for ForgeFault {
    fn from(error: Error) -> ForgeFault {
        ForgeFault::Internal(error)
    }
}

/// The answer of a forge, within the time that a question may take.
///
/// # Errors
/// [`ForgeFault`].
pub async fn answered<T>(
    question: impl Future<Output = Result<T, Fault>>,
) -> Result<T, ForgeFault> {
    let late = |_| ForgeFault::Later("it took too long".to_owned());
    let answer = timeout(ISSUE_LIMIT, question).await.map_err(late)?;
    answer.map_err(|fault| match fault {
        Fault::Again(why, _) => ForgeFault::Later(why),
        fault => ForgeFault::Refused(fault.into_words()),
    })
}

impl GitHosts {
    /// The forge of a repository with the organization's token, and the account of the token; none without a token.
    ///
    /// # Errors
    /// [`ForgeFault`].
    pub async fn forge(
        &self,
        org: &OrgId,
        repository: &Repository,
        scope: TokenScope<'_>,
        now: Timestamp,
    ) -> Result<Option<ForgeAccess>, ForgeFault> {
        let connection = self.connection(org, repository, scope, now).await?;
        let Some(connection) = connection else {
            return Ok(None);
        };
        let Connection {
            credential,
            api,
            app,
        } = connection;
        let is_app = credential.kind == Some(CredentialKind::App);
        let acting = app.filter(|_| is_app);
        let login = match acting {
            Some(app) => Some(
                self.app_login(org, &credential.host, (&api, app), now)
                    .await?,
            ),
            None => None,
        };
        let forge = Forge::connect(api, &self.hosts, &credential.token);
        let forge = forge.map_err(Error::internal)?;
        let login = match login {
            Some(login) => login,
            None => answered(forge.login()).await?,
        };
        Ok(Some(ForgeAccess {
            forge,
            is_app,
            own: OwnAccount {
                login: Some(login),
                app_id: app.map(|app| app.app_id),
            },
        }))
    }

    /// The forge of a repository, to read pull requests with the organization's credential; none without a
    /// credential, and where the host has no forge.
    ///
    /// # Errors
    /// As [`GitHosts::of`].
    pub async fn connect(
        &self,
        org: &OrgId,
        repository: &Repository,
        now: Timestamp,
    ) -> Result<Option<Forge>, Error> {
        let scope = TokenScope::PullRequests;
        let connection = self.connection(org, repository, scope, now).await?;
        let connect = |connection: Connection| {
            Forge::connect(connection.api, &self.hosts, &connection.credential.token)
        };
        connection.map(connect).transpose().map_err(Error::internal)
    }

    async fn connection(
        &self,
        org: &OrgId,
        repository: &Repository,
        scope: TokenScope<'_>,
        now: Timestamp,
    ) -> Result<Option<Connection>, Error> {
        let access = self.access(org, repository, scope, now).await?;
        let (app, forge_of_app) = access.app.unzip();
        let setting = access.forge.or(forge_of_app.flatten());
        let hosted = HostedRepository::parse(repository.as_str());
        let api = hosted.and_then(|hosted| Forge::api(&hosted, setting.as_ref(), &self.hosts));
        let both = access.credential.zip(api);
        Ok(both.map(|(credential, api)| Connection {
            credential,
            api,
            app,
        }))
    }

    async fn app_login(
        &self,
        org: &OrgId,
        host: &str,
        (api, app): (&Api, AppSetting),
        now: Timestamp,
    ) -> Result<String, ForgeFault> {
        let host = GitHostName::parse(host).map_err(Error::internal)?;
        let pem = self.secrets.get(org, &app_secret(&host)).await?;
        let key = pem.as_deref().map(AppKey::parse);
        let Some(Ok(key)) = key else {
            return Err(ForgeFault::Refused("the App has no key".to_owned()));
        };
        answered(app_login(api, &self.hosts, (&key, app), now)).await
    }
}
