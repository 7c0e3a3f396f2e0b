//! Deliveries to inboxes: what the log shows of them, and what triggers made of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use super::signature::HookMessage;
use super::{BODIES_KEPT_MS, InboxKind};
use crate::forge::GitHostName;
use crate::{InboxDeliveryId, InboxId, Timestamp, TriggerId, WorkOrderId};

/// Most judgements of a delivery that end in an error.
pub const MAX_ATTEMPTS: u32 = 10;
/// Pause after a judgement that ended in an error, in milliseconds.
pub const RETRY_MS: i64 = 60_000;
/// Longest value of a header that is stored, in bytes.
const MAX_VALUE: usize = 256;
/// The reason of a delivery that no trigger of its inbox is about.
const NO_TRIGGER: &str = "event";
/// The event of senders that are no forge, and of a forge that names none.
const RECEIVED: &str = "received";

/// The headers that are stored with a delivery. No signature covers them, but for `webhook-id`.
pub const KEPT_HEADERS: [&str; 16] = [
    "webhook-id",
    "webhook-timestamp",
    "x-forgejo-delivery",
    "x-forgejo-event",
    "x-forgejo-event-type",
    "x-gitea-delivery",
    "x-gitea-event",
    "x-gitea-event-type",
    "x-github-delivery",
    "x-github-event",
    "x-github-hook-id",
    "x-github-hook-installation-target-id",
    "x-github-hook-installation-target-type",
    "x-gitlab-event",
    "x-gitlab-event-uuid",
    "x-gitlab-instance",
];

/// The outcome of a delivery: the first of these results that one of its triggers has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum InboxOutcome {
    /// The delivery waits for its processing.
    Pending,
    /// A trigger created a work order.
    Created,
    /// A trigger continued a thread.
    FollowedUp,
    /// A trigger waits for more of the same subject.
    Joined,
    /// Processing failed.
    Failed,
    /// A trigger would have created a work order, and was not allowed to.
    Refused,
    /// No trigger was about it.
    Ignored,
}

/// The result of a trigger for a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[schema(as = TriggerResultName)]
pub enum TriggerResultKind {
    /// A work order was created.
    Created,
    /// A turn of a thread was created.
    FollowedUp,
    /// The delivery waits in the window of the trigger, with others of its subject.
    Joined,
    /// The trigger is not about it.
    Ignored,
    /// The work order was not allowed.
    Refused,
    /// The processing failed.
    Failed,
}

impl TriggerResultKind {
    fn outcome(self) -> InboxOutcome {
        match self {
            TriggerResultKind::Created => InboxOutcome::Created,
            TriggerResultKind::FollowedUp => InboxOutcome::FollowedUp,
            TriggerResultKind::Joined => InboxOutcome::Joined,
            TriggerResultKind::Ignored => InboxOutcome::Ignored,
            TriggerResultKind::Refused => InboxOutcome::Refused,
            TriggerResultKind::Failed => InboxOutcome::Failed,
        }
    }
}

/// The result of one trigger for a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerResult {
    /// The trigger.
    pub trigger_id: TriggerId,
    /// The result.
    pub result: TriggerResultKind,
    /// The cause of a result other than a work order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The work order that it created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_order_id: Option<WorkOrderId>,
}

/// A delivery to an inbox, without its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxDelivery {
    /// The id of the delivery.
    pub id: InboxDeliveryId,
    /// The inbox.
    pub inbox_id: InboxId,
    /// The kind of the inbox.
    pub kind: InboxKind,
    /// The host of the inbox's forge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<GitHostName>,
    /// The headers that are stored, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The SHA-256 of the body as it was signed, by which its body is stored.
    pub body_sha256: String,
    /// The number of bytes of that body.
    pub body_bytes: u64,
    /// The time of its arrival.
    pub received_at: Timestamp,
    /// The event, as far as it is known.
    pub event: String,
    /// The id that the sender gave it, which no signature need cover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_id: Option<String>,
    /// The issue, pull request or branch that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The account that caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The outcome: the first of these that a trigger has.
    pub outcome: InboxOutcome,
    /// The cause of an outcome that no trigger has: `event`, `body_gone` or `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The results of triggers.
    #[serde(default)]
    pub triggers: Vec<TriggerResult>,
}

impl InboxDelivery {
    /// True if its body is no longer stored, or need not be.
    #[must_use]
    pub fn has_lost_body(&self, now: Timestamp) -> bool {
        now.ms_since(self.received_at) >= BODIES_KEPT_MS
    }

    /// The delivery with its results and the outcome that follows from them.
    #[must_use]
    pub fn judged(self, triggers: Vec<TriggerResult>) -> InboxDelivery {
        InboxDelivery {
            outcome: outcome_of(&triggers),
            reason: triggers.is_empty().then(|| NO_TRIGGER.to_owned()),
            triggers,
            ..self
        }
    }

    /// The delivery after its processing failed for good.
    #[must_use]
    pub fn failed(self, reason: &str) -> InboxDelivery {
        InboxDelivery {
            outcome: InboxOutcome::Failed,
            reason: Some(reason.to_owned()),
            ..self
        }
    }
}

/// The outcome of a delivery with these results.
#[must_use]
pub fn outcome_of(triggers: &[TriggerResult]) -> InboxOutcome {
    let outcomes = triggers.iter().map(|trigger| trigger.result.outcome());
    let first = outcomes.min_by_key(|outcome| *outcome as u8);
    first.unwrap_or(InboxOutcome::Ignored)
}

/// The headers of a message that are stored.
#[must_use]
pub fn kept_headers(message: &HookMessage<'_>) -> BTreeMap<String, String> {
    let value = |name: &str| {
        let value = message.header(name)?;
        let is_short = value.len() <= MAX_VALUE && !value.is_empty();
        is_short.then(|| (name.to_owned(), value.to_owned()))
    };
    KEPT_HEADERS.iter().filter_map(|name| value(name)).collect()
}

/// The event that the headers of a kind name.
#[must_use]
pub fn event_of(kind: InboxKind, headers: &BTreeMap<String, String>) -> String {
    let names: &[&str] = match kind {
        InboxKind::Github => &["x-github-event"],
        InboxKind::Gitea => &["x-forgejo-event", "x-gitea-event"],
        InboxKind::Gitlab => &["x-gitlab-event"],
        InboxKind::Standard | InboxKind::Hmac => &[],
    };
    let event = names.iter().find_map(|name| headers.get(*name));
    event.cloned().unwrap_or_else(|| RECEIVED.to_owned())
}

/// The id that the headers of a kind give a delivery.
#[must_use]
pub fn sender_id_of(kind: InboxKind, headers: &BTreeMap<String, String>) -> Option<String> {
    let names: &[&str] = match kind {
        InboxKind::Github => &["x-github-delivery"],
        InboxKind::Gitea => &["x-forgejo-delivery", "x-gitea-delivery"],
        InboxKind::Gitlab => &["webhook-id", "x-gitlab-event-uuid"],
        InboxKind::Standard => &["webhook-id"],
        InboxKind::Hmac => &[],
    };
    names.iter().find_map(|name| headers.get(*name)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(result: TriggerResultKind) -> TriggerResult {
        TriggerResult {
            trigger_id: TriggerId::new(Timestamp::from_epoch_ms(0), 1),
            result,
            reason: None,
            work_order_id: None,
        }
    }

    #[test]
    fn the_outcome_is_the_first_of_the_list_that_a_result_has() {
        use TriggerResultKind::{Created, Failed, FollowedUp, Ignored, Joined, Refused};
        for (results, outcome) in [
            (vec![], InboxOutcome::Ignored),
            (vec![Ignored, Refused], InboxOutcome::Refused),
            (vec![Refused, Failed, Ignored], InboxOutcome::Failed),
            (vec![Failed, Joined], InboxOutcome::Joined),
            (vec![Joined, FollowedUp], InboxOutcome::FollowedUp),
            (vec![Ignored, Created, FollowedUp], InboxOutcome::Created),
        ] {
            let results: Vec<TriggerResult> = results.into_iter().map(result).collect();
            assert_eq!(outcome_of(&results), outcome, "{results:?}");
        }
    }
}
