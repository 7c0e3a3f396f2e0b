//! Results of a base commit, which the runs of an organization share.

use serde::{Deserialize, Serialize};

use crate::verification::PluginResult;
use crate::{OrgId, RunId};

/// Largest results of a base commit that are stored, in bytes of their JSON.
pub const MAX_BASELINE_BYTES: usize = 200_000;

/// The path of baselines; `POST` with a [`BaselineRequest`], answered by a [`BaselineAnswer`].
#[must_use]
pub fn baseline_path(org: &OrgId, run: &RunId) -> String {
    format!("/control/{org}/runs/{run}/baseline")
}

/// A request for the stored results of a run's base commit, or an addition to them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BaselineRequest {
    /// The commit.
    pub commit: String,
    /// Lower-case hex SHA-256 of plan and plugins.
    pub plan_hash: String,
    /// Results to be stored; none of a mere request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<PluginResult>,
}

/// The results that are stored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselineAnswer {
    /// By plugin; none if nothing is stored.
    pub results: Vec<PluginResult>,
}
