//! Triggers: work orders that the service creates for events which forges and other senders deliver to an inbox.
//! A trigger stands between its events; each work order of it is one change of it.

mod event;
mod state;
pub mod subject;

pub use event::{TRIGGER_PAUSED, TriggerPausedData};

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::api_key::KeyId;
use crate::forge::{ForgeKind, ForgePermission};
use crate::{InboxId, Timestamp, TriggerId};

/// Most triggers of an organization.
pub const MAX_TRIGGERS: u32 = 100;
/// Longest name of a trigger, in characters.
pub const MAX_NAME: usize = 100;
/// Most patterns of repositories.
pub const MAX_REPOSITORIES: usize = 50;
/// Longest pattern, label, login, word, pointer or value of a filter, in characters.
pub const MAX_TEXT: usize = 256;
/// Most entries of a list of a filter.
pub const MAX_ENTRIES: usize = 20;
/// Most work orders of a trigger in an hour, where a client may set it.
pub const MAX_PER_HOUR: u32 = 100;
/// Work orders of a trigger in an hour, where a client names no limit.
pub const USUAL_PER_HOUR: u32 = 20;
/// Work orders of a trigger for one subject, where a client names no limit.
pub const USUAL_PER_SUBJECT: u32 = 20;
/// Work orders of a trigger of failed checks for one subject, where a client names no limit.
pub const USUAL_PER_FAILING_SUBJECT: u32 = 3;
/// Most work orders of a trigger for one subject, where a client may set it.
pub const MAX_PER_SUBJECT: u32 = 100;
/// Time for which comments, reviews and checks are gathered, where a client names none, in seconds.
pub const USUAL_SETTLE_S: u32 = 60;
/// Longest time for which deliveries are gathered, in seconds.
pub const MAX_SETTLE_S: u32 = 600;
/// Creates that are refused in a row after which a trigger pauses.
pub const PAUSE_AFTER: u32 = 10;
/// Time for which the work order of a trigger and a delivery is known, in milliseconds: as long as the delivery.
pub const ORDERS_KEPT_MS: i64 = 31 * 24 * 3_600_000;
/// Time in which the permission of an actor can become known, in milliseconds.
pub const PERMISSION_WAIT_MS: i64 = 10 * 60_000;

/// An event, which is the same whatever the forge calls it.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    ToSchema,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
pub enum TriggerEvent {
    /// An issue was opened.
    #[serde(rename = "issue.opened")]
    #[strum(serialize = "issue.opened")]
    IssueOpened,
    /// An issue got a label.
    #[serde(rename = "issue.labeled")]
    #[strum(serialize = "issue.labeled")]
    IssueLabeled,
    /// An issue was assigned.
    #[serde(rename = "issue.assigned")]
    #[strum(serialize = "issue.assigned")]
    IssueAssigned,
    /// An issue or a pull request got a comment.
    #[serde(rename = "comment.created")]
    #[strum(serialize = "comment.created")]
    CommentCreated,
    /// A pull request was reviewed.
    #[serde(rename = "review.submitted")]
    #[strum(serialize = "review.submitted")]
    ReviewSubmitted,
    /// A check of a commit failed.
    #[serde(rename = "check.failed")]
    #[strum(serialize = "check.failed")]
    CheckFailed,
    /// Somebody asked for a check of ours once more.
    #[serde(rename = "check.rerequested")]
    #[strum(serialize = "check.rerequested")]
    CheckRerequested,
    /// Commits were pushed to a branch.
    #[serde(rename = "push")]
    #[strum(serialize = "push")]
    Push,
    /// A pull request was opened.
    #[serde(rename = "pull_request.opened")]
    #[strum(serialize = "pull_request.opened")]
    PullRequestOpened,
    /// The branch of a pull request got commits.
    #[serde(rename = "pull_request.updated")]
    #[strum(serialize = "pull_request.updated")]
    PullRequestUpdated,
    /// A pull request got a label.
    #[serde(rename = "pull_request.labeled")]
    #[strum(serialize = "pull_request.labeled")]
    PullRequestLabeled,
    /// A pull request was merged.
    #[serde(rename = "pull_request.merged")]
    #[strum(serialize = "pull_request.merged")]
    PullRequestMerged,
    /// A delivery came to an inbox of the kind `standard` or `hmac`.
    #[serde(rename = "received")]
    #[strum(serialize = "received")]
    Received,
}

impl TriggerEvent {
    /// True if an inbox can get it: `forge` is the forge that sends to it.
    #[must_use]
    pub fn is_sent_by(self, forge: Option<ForgeKind>) -> bool {
        match self {
            TriggerEvent::Received => forge.is_none(),
            TriggerEvent::CheckRerequested => forge == Some(ForgeKind::Github),
            TriggerEvent::CheckFailed => {
                matches!(forge, Some(ForgeKind::Github | ForgeKind::Gitlab))
            }
            _ => forge.is_some(),
        }
    }

    /// True for what comes in bursts: comments, reviews and checks.
    #[must_use]
    pub fn comes_in_bursts(self) -> bool {
        matches!(
            self,
            TriggerEvent::CommentCreated
                | TriggerEvent::ReviewSubmitted
                | TriggerEvent::CheckFailed
                | TriggerEvent::CheckRerequested
        )
    }
}

/// The action of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum TriggerAction {
    /// A work order is created.
    Create,
    /// The thread that owns the pull request or the branch gets another turn.
    FollowUp,
    /// The head of a pull request, or a pushed commit, is verified: no agent runs.
    Verify,
}

/// The treatment of a pull request that no thread owns, by a trigger that follows up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
#[schema(as = TriggerOnForeign)]
pub enum OnForeign {
    /// No work order is created.
    #[default]
    Ignore,
    /// A work order is created whose result is pushed onto its branch.
    Adopt,
}

/// The least permission of an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum TriggerPermission {
    /// No permission is asked for; only of a trigger that verifies.
    Anyone,
    /// May label and close issues.
    Triage,
    /// May push.
    Write,
    /// May change settings of the repository, some excepted.
    Maintain,
    /// May do everything.
    Admin,
}

impl TriggerPermission {
    /// True if a permission that a forge names is enough.
    #[must_use]
    pub fn is_met_by(self, has: ForgePermission) -> bool {
        let least = match self {
            TriggerPermission::Anyone => ForgePermission::None,
            TriggerPermission::Triage => ForgePermission::Triage,
            TriggerPermission::Write => ForgePermission::Write,
            TriggerPermission::Maintain => ForgePermission::Maintain,
            TriggerPermission::Admin => ForgePermission::Admin,
        };
        has >= least
    }
}

/// The state of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ReviewState {
    /// Approval.
    Approved,
    /// Request for changes.
    ChangesRequested,
    /// Comments alone.
    Commented,
}

/// The cause for which a trigger does nothing until it is written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum TriggerPauseReason {
    /// Creates that were refused, in a row.
    Refusals,
    /// The key that last wrote the trigger was revoked.
    KeyRevoked,
}

/// A condition on a value of a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TriggerMatch)]
pub struct BodyMatch {
    /// The JSON pointer of the value.
    pub pointer: String,
    /// The value has this text; numbers and flags are compared as JSON writes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<String>,
    /// The value contains this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// True if there has to be such a value, false if there must be none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
}

/// Conditions on an event, all of which must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerFilter {
    /// Labels that the issue or pull request has; of an added label, the label is one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Labels that it does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_labels: Vec<String>,
    /// A name that the text mentions with an `@`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mention: Option<String>,
    /// A word with which a line of the text begins, after a slash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Patterns of the pushed branch, or of the target of a pull request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<String>,
    /// Patterns of the names of checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// States of a review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub review_states: Vec<ReviewState>,
    /// True if the pull request has to be a draft, false if it must not be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<bool>,
    /// Conditions on the body of a delivery.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub body: Vec<BodyMatch>,
}

/// Actors whose events count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TriggerWho)]
pub struct TriggerActors {
    /// The least permission on the repository.
    pub permission: TriggerPermission,
    /// Logins of the only users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    /// Logins of users who are refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_users: Vec<String>,
    /// Logins of bots that count as users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bots: Vec<String>,
}

/// Limits of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerLimits {
    /// Most work orders for one issue or pull request since a person last pushed, commented or labelled.
    #[schema(minimum = 1, maximum = 100)]
    pub per_subject: u32,
    /// Most work orders in an hour.
    #[schema(minimum = 1, maximum = 100)]
    pub per_hour: u32,
}

/// The fields of a trigger that a client sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TriggerContent {
    /// The name.
    pub name: String,
    /// The inbox whose deliveries it judges.
    pub inbox_id: InboxId,
    /// The events.
    pub events: Vec<TriggerEvent>,
    /// Patterns of repositories: `host/owner/name`. None of an inbox that no forge sends to.
    pub repositories: Vec<String>,
    /// Conditions on an event.
    pub filter: TriggerFilter,
    /// Actors whose events count.
    pub who: TriggerActors,
    /// The action.
    pub action: TriggerAction,
    /// The treatment of a pull request that no thread owns.
    #[serde(default)]
    pub on_foreign: OnForeign,
    /// The body of a create of a work order, as JSON, with places for values of the event.
    pub work_order: String,
    /// Time for which deliveries about one issue or pull request are gathered, in seconds.
    #[serde(default)]
    pub settle_seconds: u32,
    /// The limits.
    pub limits: TriggerLimits,
    /// False if it does nothing.
    pub enabled: bool,
}

/// A trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// The id.
    pub id: TriggerId,
    /// The fields that a client sets.
    pub content: TriggerContent,
    /// The key that last wrote it: its work orders count in the budgets of that key.
    pub created_by: KeyId,
    /// Time of the creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Time of the last work order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_fired_at: Option<Timestamp>,
    /// Number of creates that were refused since the last one that was not.
    pub consecutive_refusals: u32,
    /// The cause for which it does nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<TriggerPauseReason>,
    /// Times of the work orders in the hour before the last of them.
    #[serde(default)]
    pub recent: Vec<Timestamp>,
}

#[cfg(test)]
pub(crate) mod tests;
