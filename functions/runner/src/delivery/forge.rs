//! Forges: services around git hosts that have pull requests. What is true of one forge alone
//! (addresses, calls, the meaning of its answers) is in a file of its own, behind [`Forge`].

mod github;
mod hosts;
mod repository;
mod rest;

use std::time::Duration;

use awo_domain::pull_request::PullRequestUrl;
use http::StatusCode;
use tokio::time::Instant;

use super::pull_request::{NotOpened, Opened, Opening, Pushed, Unopened};
use github::Github;
pub(crate) use hosts::Hosts;
use repository::HostedRepository;

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

    async fn open(self, address: Address, at: &Repository<'_>) -> Result<Opened, NotOpened> {
        match self {
            ForgeKind::Github => at.open::<Github>(address).await,
        }
    }
}

/// Variables of the environment that name the API of a forge.
const API_VARIABLES: [&str; 1] = [Github::API_VARIABLE];

/// The API of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Without a slash at its end.
    url: String,
    /// False if only an answer can tell whether the forge is there.
    is_known: bool,
}

/// A pull request as it should be.
#[derive(Debug, Clone)]
pub(super) struct Proposal<'a> {
    pub(super) title: &'a str,
    pub(super) body: &'a str,
    /// What is to be merged.
    pub(super) branch: &'a str,
    /// Where it is to be merged.
    pub(super) target: &'a str,
    /// Counts for a new one only.
    pub(super) draft: bool,
}

/// A pull request as its forge knows it.
#[derive(Debug)]
pub(super) struct ExistingPullRequest {
    pub(super) number: u64,
    pub(super) url: PullRequestUrl,
}

/// Why a call brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Asking again can help, after this pause if the forge says which.
    Again(String, Option<Duration>),
    /// The forge does not do it.
    Refused(StatusCode, String),
    /// The host answers as another forge, or none.
    OtherForge(String),
}

impl Fault {
    /// Why, without the status.
    pub(super) fn into_words(self) -> String {
        match self {
            Fault::Again(why, _) | Fault::Refused(_, why) | Fault::OtherForge(why) => why,
        }
    }
}

/// One forge, at one repository, with an organization's token.
pub(super) trait Forge: Sized {
    /// Its name in messages.
    const NAME: &'static str;
    /// What a token needs, in the forge's own terms: "it needs … for this repository".
    const PERMISSIONS: &'static str;

    /// Where its API has a repository; nothing if no URL of this forge looks so.
    fn address(repository: &HostedRepository, hosts: &Hosts) -> Option<Address>;

    /// # Errors
    /// A sentence, if there is no HTTP client to be had, or the token is none.
    fn connect(
        repository: &HostedRepository,
        address: Address,
        hosts: &Hosts,
        token: &str,
    ) -> Result<Self, String>;

    /// The open pull request of a branch.
    async fn find(&self, branch: &str) -> Result<Option<ExistingPullRequest>, Fault>;

    /// Opens one. One that is there already is [`Fault::Again`].
    async fn create(&self, proposal: &Proposal<'_>) -> Result<ExistingPullRequest, Fault>;

    /// Gives an open one another text and target.
    async fn update(&self, number: u64, proposal: &Proposal<'_>) -> Result<(), Fault>;

    async fn label(&self, number: u64, labels: &[String]) -> Result<(), Fault>;

    /// Asks users and teams, as the profile writes them.
    async fn request_reviews(&self, number: u64, reviewers: &[String]) -> Result<(), Fault>;

    /// True if a refused pull request could be opened if it were no draft.
    fn is_about_drafts(status: StatusCode, why: &str) -> bool;
}

/// A repository whose result is delivered.
struct Repository<'a> {
    hosted: &'a HostedRepository,
    hosts: &'a Hosts,
    token: &'a str,
    pushed: &'a Pushed<'a>,
    deadline: Instant,
}

impl Repository<'_> {
    async fn open<F: Forge>(&self, address: Address) -> Result<Opened, NotOpened> {
        let forge = F::connect(self.hosted, address, self.hosts, self.token);
        let opening = Opening {
            forge: forge.map_err(Unopened::Refused)?,
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
    pushed: &Pushed<'_>,
    deadline: Instant,
) -> Result<Opened, Unopened> {
    let spec = pushed.spec;
    let url = spec.source.repository.as_str();
    let hosted = HostedRepository::parse(url);
    let served = hosted.map(|hosted| (candidates(&hosted, hosts), hosted));
    let Some((candidates, hosted)) = served.filter(|(candidates, _)| !candidates.is_empty()) else {
        let names = ForgeKind::ALL.map(ForgeKind::name).join(" or ");
        return Err(Unopened::NotPossible(format!(
            "{url} is not a repository on a {names} host"
        )));
    };
    let mut credentials = spec.git_credentials.iter();
    let Some(credential) = credentials.find(|one| one.host == hosted.host) else {
        return Err(Unopened::NotPossible(format!(
            "the organization has no token for {0}: have the operator set the secret git:{0}",
            hosted.host
        )));
    };
    let at = Repository {
        hosted: &hosted,
        hosts,
        token: credential.token.trim(),
        pushed,
        deadline,
    };
    let mut why_none = Vec::new();
    for (kind, address) in candidates {
        match kind.open(address, &at).await {
            Ok(opened) => return Ok(opened),
            Err(NotOpened::At(unopened)) => return Err(unopened),
            Err(NotOpened::OtherForge(why)) => why_none.push(why),
        }
    }
    Err(Unopened::NotPossible(why_none.join("; ")))
}
