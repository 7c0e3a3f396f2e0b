//! Forges: services around git hosts that have pull requests. What is true of one forge alone
//! (addresses, calls, the meaning of its answers) is in a file of its own, behind [`Forge`].

mod accounts;
mod app;
mod forge;
mod gitea;
mod github;
mod gitlab;
mod hosts;
mod judgement;
mod repository;
mod rest;

use std::time::Duration;

use awo_domain::Timestamp;
use awo_domain::forge::ForgeKind;
use awo_domain::pull_request::PullRequestUrl;
use http::StatusCode;

pub use accounts::{PullRequestBranches, app_login};
pub use app::{AppKey, AppKeyFault, InstallationToken, TokenScope, installation_token};
pub use forge::Forge;
pub use hosts::Hosts;
pub use repository::HostedRepository;

/// Variables of the environment that name the API of a forge.
pub const API_VARIABLES: [&str; 1] = [github::API_VARIABLE];

/// The API that serves a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    /// Kind of its forge.
    pub kind: ForgeKind,
    /// Its address, without a slash at its end.
    pub url: String,
    /// False if only an answer can show whether the forge is there.
    pub is_known: bool,
    /// Where it has the repository.
    pub path: Vec<String>,
}

/// A pull request as it should be.
#[derive(Debug, Clone)]
pub struct Proposal<'a> {
    /// Without a mark of a draft.
    pub title: &'a str,
    /// Its text.
    pub body: &'a str,
    /// Branch that is to be merged.
    pub branch: &'a str,
    /// Branch into which it is to be merged.
    pub target: &'a str,
    /// Counts for a new one only: an open one stays what people made of it.
    pub draft: bool,
}

/// A pull request as its forge knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingPullRequest {
    /// Its number in the repository.
    pub number: u64,
    /// Address of its page.
    pub url: PullRequestUrl,
    /// True if it is a draft now.
    pub draft: bool,
}

/// Stage of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullRequestStatus {
    /// Neither merged nor closed.
    Open,
    /// Its changes are in its target.
    Merged,
    /// Closed without a merge.
    Closed,
}

/// The state of a pull request as its forge reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestState {
    /// Whether it is open.
    pub status: PullRequestStatus,
    /// Time of the merge.
    pub merged_at: Option<Timestamp>,
    /// Time at which it was closed without a merge.
    pub closed_at: Option<Timestamp>,
    /// Commit by which it is in the target, if the forge names one.
    pub merged_commit: Option<String>,
    /// Newest commit of its branch.
    pub head: Option<String>,
}

/// Number of a pull request in its repository, from the address of its page.
#[must_use]
pub fn pull_request_number(url: &PullRequestUrl) -> Option<u64> {
    let mut names = url.as_str().trim_end_matches('/').rsplit('/');
    let number = names.next()?.parse().ok()?;
    let is_page = matches!(names.next()?, "pull" | "pulls" | "merge_requests");
    is_page.then_some(number)
}

/// Why a call brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A retry can help, after this pause if the forge names one.
    Again(String, Option<Duration>),
    /// The forge does not do it.
    Refused(StatusCode, String),
    /// The host answers as another forge, or none.
    OtherForge(String),
}

impl Fault {
    /// Why, without the status.
    #[must_use]
    pub fn into_words(self) -> String {
        match self {
            Fault::Again(why, _) | Fault::Refused(_, why) | Fault::OtherForge(why) => why,
        }
    }
}

/// A refusal by an answer that is no pull request.
fn unreadable() -> Fault {
    let why = "its answer is not a pull request with a number and an https URL";
    Fault::Refused(StatusCode::OK, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_a_pull_request_names_its_number_at_each_forge() {
        for (url, number) in [
            ("https://github.com/a/b/pull/7", Some(7)),
            ("https://codeberg.org/a/b/pulls/8", Some(8)),
            ("https://gitlab.com/a/b/c/-/merge_requests/9", Some(9)),
            ("https://gitlab.com/a/b/-/issues/9", None),
            ("https://github.com/a/b/pull/x", None),
        ] {
            let url = PullRequestUrl::parse(url).unwrap();
            assert_eq!(pull_request_number(&url), number, "{}", url.as_str());
        }
    }
}
