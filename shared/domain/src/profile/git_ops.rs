//! The delivery of results, and the reports to the forge.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::run_report::{CHECK_NAME, CheckMode, CommentMode, UnverifiedMode};
use crate::source::Branch;

/// The delivery of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = GitDeliveryMode)]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum GitMode {
    /// Stays in the run's workspace.
    Local,
    /// A branch is pushed to the origin.
    Push,
    /// A branch is pushed, and a pull request is opened for it.
    PullRequest,
}

/// The delivery of the result by git, and the reports to the forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitOps {
    /// The place of the result.
    pub mode: GitMode,
    /// The prefix of the run's id in the branch's name.
    pub branch_prefix: String,
    /// The prefix of each commit's message.
    pub commit_message_prefix: String,
    /// The target branch of a pull request; the default is the cloned branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub target_branch: Option<Branch>,
    /// True if a pull request is opened as a draft.
    pub draft: bool,
    /// The requested reviewers of a pull request.
    pub reviewers: Vec<String>,
    /// The labels of a pull request.
    pub labels: Vec<String>,
    /// The check of the delivered or verified commit.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub checks: CheckMode,
    /// The name of that check.
    #[serde(
        default = "default_check_name",
        skip_serializing_if = "is_default_name"
    )]
    pub check_name: String,
    /// The check of a commit that passed although no test is known to have run.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub unverified: UnverifiedMode,
    /// The comment on the pull request, and on the issue that a trigger has created the work order for.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub comment: CommentMode,
    /// True if the comment shows the cost.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub show_cost: bool,
}

/// True for a value that a profile of an earlier version has: it is not written, so that the hash of such a profile
/// stays.
fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_default_name(name: &str) -> bool {
    name == CHECK_NAME
}

fn default_check_name() -> String {
    CHECK_NAME.to_owned()
}
