//! Forges: services around git hosts that have pull requests. What is true of one forge alone
//! (addresses, calls, the meaning of its answers) is in a file of its own, behind [`Forge`].

mod accounts;
mod app;
mod deliveries;
mod forge;
mod gitea;
mod github;
mod gitlab;
mod hosts;
mod judgement;
mod reports;
mod repository;
mod rest;

use std::time::Duration;

use awo_domain::forge::ForgeKind;
use awo_domain::pull_request::PullRequestUrl;
use http::StatusCode;
use serde_json::Value;

use rest::MarkedAnswer;

pub use awo_domain::pull_request::{PullRequestState, PullRequestStatus};

pub use accounts::{PullRequestBranches, app_login};
pub use app::{AppKey, AppKeyFault, InstallationToken, TokenScope, installation_token};
pub use deliveries::delivered_state;
pub use forge::Forge;
pub use hosts::Hosts;
pub use reports::{Annotation, CommentPlace, CommitCheck, StickyComment};
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

/// The answer to a request for the state of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateAnswer {
    /// The state is the same as when the forge gave this mark.
    Unchanged,
    /// The state may be another one.
    State {
        /// The state as the forge reports it.
        state: PullRequestState,
        /// The forge's mark of this answer, if it gave one.
        etag: Option<String>,
    },
}

impl StateAnswer {
    fn of(
        changed: Option<MarkedAnswer>,
        state: impl FnOnce(&Value) -> Option<PullRequestState>,
    ) -> Result<StateAnswer, Fault> {
        let Some(MarkedAnswer { body, etag }) = changed else {
            return Ok(StateAnswer::Unchanged);
        };
        let state = state(&body).ok_or_else(unreadable)?;
        Ok(StateAnswer::State { state, etag })
    }
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
