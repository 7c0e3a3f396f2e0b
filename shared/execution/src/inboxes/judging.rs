//! The judgement of a delivery by the triggers of its inbox.

use awo_domain::inbox::delivery::{InboxDelivery, TriggerResult};
use awo_domain::{Error, OrgId, Timestamp};

/// A delivery with its body.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedDelivery<'a> {
    /// The owner.
    pub org: &'a OrgId,
    /// The delivery, with the results of an earlier judgement.
    pub delivery: &'a InboxDelivery,
    /// The body: JSON.
    pub body: &'a [u8],
    /// The present time.
    pub now: Timestamp,
}

/// The judgement of a delivery.
#[derive(Debug, Default)]
pub struct Judgement {
    /// The event, if the body names it better than a header.
    pub event: Option<String>,
    /// The issue, pull request or branch that it is about.
    pub subject: Option<String>,
    /// The account that caused it.
    pub actor: Option<String>,
    /// The result of each trigger.
    pub results: Vec<TriggerResult>,
    /// The time of the next judgement, if something is not known yet.
    pub again_at: Option<Timestamp>,
}

/// Judges a delivery. An inbox has no triggers yet, so nothing comes of it.
///
/// # Errors
/// Internal, when something cannot be read.
pub async fn judge(received: &ReceivedDelivery<'_>) -> Result<Judgement, Error> {
    Ok(Judgement {
        results: received.delivery.triggers.clone(),
        ..Judgement::default()
    })
}
