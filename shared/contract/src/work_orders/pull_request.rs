//! Pull requests as the API shows them.

use awo_domain::Timestamp;
use awo_domain::pull_request::{PullRequest, PullRequestStatus};
use serde::Serialize;
use utoipa::ToSchema;

/// A pull request of a thread, as it is known.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PullRequest)]
pub(super) struct PullRequestShape<'a> {
    /// The address of the page.
    url: &'a str,
    /// The number in the repository.
    number: u64,
    /// The state; a reopened pull request is `open`.
    state: PullRequestStatus,
    /// Time of the merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    merged_at: Option<Timestamp>,
    /// Time at which it was closed without a merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<Timestamp>,
    /// Commit by which it is in its target, if the forge names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    merged_commit: Option<&'a str>,
    /// True if it was merged, and the merged head is the last verified commit.
    merged_as_verified: bool,
}

impl<'a> PullRequestShape<'a> {
    /// A pull request.
    pub(super) fn of(pull: &'a PullRequest) -> PullRequestShape<'a> {
        PullRequestShape {
            url: pull.url.as_str(),
            number: pull.number,
            state: pull.state,
            merged_at: pull.merged_at,
            closed_at: pull.closed_at,
            merged_commit: pull.merged_commit.as_deref(),
            merged_as_verified: pull.merged_as_verified(),
        }
    }
}
