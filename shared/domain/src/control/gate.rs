//! The gate of a `verify` order: the branch whose plan judges a commit, so that no commit weakens the
//! plan that it is judged by.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::source::Branch;

/// The plan of a `verify` order, and what of the commit it does not trust.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gate {
    /// The branch whose plan counts; the repository's default branch where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Branch>,
    /// True if protected files and scripts have the base's content.
    #[serde(default)]
    pub protect: bool,
}

/// Comparison of a verified commit with the base of its gate; of a run with an agent only where it changed
/// files of the gate.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateComparison {
    /// The commit whose plan counted: of a `verify` order the tip of the base branch.
    pub base_commit: String,
    /// The verified commit.
    pub commit: String,
    /// The number of commits of the base branch that the commit of a `verify` order does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub behind: Option<u64>,
    /// Files that decide what the commands of the plan do, and that the commit changed; of a `verify` order the
    /// protected ones, too; at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gate_changed: Vec<String>,
}
