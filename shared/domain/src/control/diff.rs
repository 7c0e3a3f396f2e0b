//! The changes of an iteration, as sent to the control API.

use serde::{Deserialize, Serialize};

use crate::{OrgId, RunId};

/// Bytes at the beginning of a diff that are stored.
pub const MAX_DIFF_BYTES: usize = 1_048_576;
/// Largest gzip of a diff, in bytes: what does not shrink so far is cut further.
pub const MAX_DIFF_GZIP_BYTES: usize = 737_280;

/// The path of diffs; `POST` with a [`SnapshotDiff`], answered by a [`super::ReportAnswer`].
#[must_use]
pub fn diff_path(org: &OrgId, run: &RunId) -> String {
    format!("/control/{org}/runs/{run}/diff")
}

/// What a run has changed so far: its base against the commit of an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SnapshotDiff {
    /// The commit's iteration, from 1.
    pub iteration: u32,
    /// The commit that the run began with.
    pub base_commit: String,
    /// The iteration's commit.
    pub commit: String,
    /// Base64 of the gzip of at most [`MAX_DIFF_BYTES`] bytes of unified diff.
    pub diff: String,
    /// How many bytes the whole diff has.
    pub bytes: u64,
}
