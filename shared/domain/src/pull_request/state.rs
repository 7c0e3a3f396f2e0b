//! The state of a pull request as its forge reports it.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::Timestamp;

/// Stage of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum PullRequestStatus {
    /// Neither merged nor closed.
    Open,
    /// Merged into its target.
    Merged,
    /// Closed without a merge.
    Closed,
}

/// The state of a pull request as its forge reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestState {
    /// The stage.
    pub status: PullRequestStatus,
    /// Time of the merge.
    pub merged_at: Option<Timestamp>,
    /// Time at which it was closed without a merge.
    pub closed_at: Option<Timestamp>,
    /// Commit by which it is in the target, if the forge names one.
    pub merged_commit: Option<String>,
    /// Newest commit of its branch.
    pub head: Option<String>,
    /// Time of its last change at the forge, by which of two reports the newer one is known.
    pub updated_at: Option<Timestamp>,
}
