//! Every forge, and which of them serves a repository.

mod github;

use tokio::time::Instant;

use super::forge::{Address, Forge, HostedRepository, Hosts};
use super::pull_request::{LIMIT, Opening};
use super::result::{NotOpened, OpenFailure, OpenPullRequest, PushedResult};
use github::Github;

/// Variables of the environment that name the API of a forge.
pub(crate) const API_VARIABLES: [&str; 1] = [Github::API_VARIABLE];

/// Every forge, in the order in which a host that is none's own is asked for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForgeKind {
    Github,
}

impl ForgeKind {
    const ALL: [ForgeKind; 1] = [ForgeKind::Github];

    /// Its name in messages.
    fn name(self) -> &'static str {
        match self {
            ForgeKind::Github => Github::NAME,
        }
    }

    fn address(self, repository: &HostedRepository, hosts: &Hosts) -> Option<Address> {
        match self {
            ForgeKind::Github => Github::address(repository, hosts),
        }
    }

    async fn open(
        self,
        address: Address,
        at: &Repository<'_>,
    ) -> Result<OpenPullRequest, NotOpened> {
        match self {
            ForgeKind::Github => at.open::<Github>(address).await,
        }
    }
}

/// A repository whose result is delivered.
struct Repository<'a> {
    hosted: &'a HostedRepository,
    hosts: &'a Hosts,
    token: &'a str,
    pushed: &'a PushedResult<'a>,
    deadline: Instant,
}

impl Repository<'_> {
    async fn open<F: Forge>(&self, address: Address) -> Result<OpenPullRequest, NotOpened> {
        let forge = F::connect(self.hosted, address, self.hosts, self.token);
        let opening = Opening {
            forge: forge.map_err(OpenFailure::Refused)?,
            host: &self.hosted.host,
            path: self.hosted.path.join("/"),
            pushed: self.pushed,
            deadline: self.deadline,
        };
        opening.open().await
    }
}

/// The forges that may serve a repository: the one whose host it is, else each that other hosts
/// may run.
fn candidates(repository: &HostedRepository, hosts: &Hosts) -> Vec<(ForgeKind, Address)> {
    let all = ForgeKind::ALL.into_iter();
    let addressed = all.filter_map(|kind| Some((kind, kind.address(repository, hosts)?)));
    let mut found: Vec<_> = addressed.collect();
    if let Some(known) = found.iter().position(|(_, address)| address.is_known) {
        found = vec![found.swap_remove(known)];
    }
    found
}

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
    let hosted = HostedRepository::parse(url);
    let served = hosted.map(|hosted| (candidates(&hosted, hosts), hosted));
    let Some((candidates, hosted)) = served.filter(|(candidates, _)| !candidates.is_empty()) else {
        let names = ForgeKind::ALL.map(ForgeKind::name).join(" or ");
        return Err(OpenFailure::NotPossible(format!(
            "{url} is not a repository on a {names} host"
        )));
    };
    let mut credentials = spec.git_credentials.iter();
    let Some(credential) = credentials.find(|one| one.host == hosted.host) else {
        return Err(OpenFailure::NotPossible(format!(
            "the organization has no token for {0}: have the operator set the secret git:{0}",
            hosted.host
        )));
    };
    let at = Repository {
        hosted: &hosted,
        hosts,
        token: credential.token.trim(),
        pushed,
        deadline: Instant::now() + LIMIT,
    };
    let mut why_none = Vec::new();
    for (kind, address) in candidates {
        match kind.open(address, &at).await {
            Ok(opened) => return Ok(opened),
            Err(NotOpened::At(unopened)) => return Err(unopened),
            Err(NotOpened::OtherForge(why)) => why_none.push(why),
        }
    }
    Err(OpenFailure::NotPossible(why_none.join("; ")))
}
