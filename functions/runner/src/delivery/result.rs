//! A result on the origin, and what became of the pull request for it.

use awo_domain::control::RunSpec;
use awo_domain::pull_request::PullRequestUrl;

use crate::repository::Base;

/// A result that is on the origin.
pub(crate) struct PushedResult<'a> {
    pub(crate) spec: &'a RunSpec,
    pub(crate) base: &'a Base,
    pub(crate) commit: &'a str,
    pub(crate) branch: &'a str,
    pub(crate) iterations: u32,
    pub(crate) verified: bool,
    /// Test files of the base that the run changed or removed.
    pub(crate) tests_changed: &'a [String],
    /// Files that decide what commands do, and that it changed.
    pub(crate) gate_changed: &'a [String],
}

/// A pull request that is there.
#[derive(Debug, Clone)]
pub(crate) struct OpenPullRequest {
    pub(crate) url: PullRequestUrl,
    /// What the profile asks for and was not done, and why.
    pub(crate) notes: Vec<String>,
}

/// Why there is none.
#[derive(Debug, Clone)]
pub(crate) enum OpenFailure {
    /// Nobody can: there is no forge, or no token for it.
    NotPossible(String),
    /// It was tried, and the forge did not do it.
    Refused(String),
    /// The forge does not accept the credential.
    Unauthorized(String),
}
