//! Forges: services around git hosts that have pull requests. What is true of one forge alone
//! (addresses, calls, the meaning of its answers) is in a file of its own, behind [`Forge`].

mod hosts;
mod repository;
pub(super) mod rest;

use std::time::Duration;

use awo_domain::pull_request::PullRequestUrl;
use http::StatusCode;

pub(crate) use hosts::Hosts;
pub(super) use repository::HostedRepository;

/// The API of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Without a slash at its end.
    pub(super) url: String,
    /// False if only an answer can show whether the forge is there.
    pub(super) is_known: bool,
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
    /// A retry can help, after this pause if the forge names one.
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

    /// Where its API has a repository; nothing if no URL of this forge has this form.
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
