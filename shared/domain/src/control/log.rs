//! An agent's output of an iteration, as sent to the control API.

use serde::{Deserialize, Serialize};

use crate::{OrgId, RunId};

/// Bytes at the end of an agent's output in one iteration that are stored.
pub const MAX_LOG_BYTES: usize = 262_144;

/// The path of what agents wrote; `POST` with an [`IterationLog`], answered by a [`super::ReportAnswer`].
#[must_use]
pub fn logs_path(org: &OrgId, run: &RunId) -> String {
    format!("/control/{org}/runs/{run}/logs")
}

/// The end of what an agent wrote in one iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IterationLog {
    /// From 1.
    pub iteration: u32,
    /// Base64 of the gzip of at most [`MAX_LOG_BYTES`] bytes.
    pub output: String,
    /// How many bytes it wrote in all.
    pub bytes: u64,
}
