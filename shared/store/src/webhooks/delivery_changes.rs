//! Outcomes of deliveries replace exactly the state they were decided on, so of two concurrent
//! writers the second changes nothing.

use awo_domain::webhook::DeliveryStatus;
use awo_domain::webhook::target::WebhookUrl;
use awo_domain::{Error, Timestamp};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::Item;
use crate::engine::key::Key;
use crate::engine::table::read;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::engine::write::Act;
use crate::webhooks::deliveries::Delivery;
use crate::webhooks::notifications::DeliveryRef;
use crate::webhooks::write_batch::Changes;

const GONE: &str = "its receiver answered 410 (Gone)";

impl Store {
    /// Writes what was made of a delivery over just that. None if it is not so any more: then
    /// nothing was written.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn change_delivery(&self, new: Delivery) -> Result<Option<Delivery>, Error> {
        match self.change(Changes::new(change_of(&new))).await?.committed {
            CommitOutcome::Yes => Ok(Some(next_revision(new))),
            CommitOutcome::No(refusals) => {
                let found = refusals.into_iter().find_map(|refusal| refusal.item);
                Ok(is_as_wanted(found, &new)?.then(|| next_revision(new)))
            }
        }
    }

    /// As [`Store::change_delivery`], of one whose receiver is gone: its webhook is disabled in
    /// the same transaction, unless its owner has meanwhile disabled, redirected or deleted it.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn end_gone(
        &self,
        new: Delivery,
        url: &WebhookUrl,
        now: Timestamp,
    ) -> Result<Option<Delivery>, Error> {
        let (org, webhook) = (&new.org_id, &new.webhook_id);
        let disabled = Change::new()
            .set("enabled", false)
            .set("disabledAt", now)
            .set("disabledReason", GONE)
            .add("revision", 1)
            .when("enabled", true)
            .when("url", url);
        let key = Key::delivery(org, webhook, &new.id);
        let committed = Transaction::new()
            .update(&key, changed(&new))
            .update(&Key::webhook(org, webhook), disabled)
            .commit(self)
            .await?;
        match committed {
            CommitOutcome::Yes => Ok(Some(next_revision(new))),
            CommitOutcome::No(_) => self.change_delivery(new).await,
        }
    }

    /// Postpones the sweep of an overdue delivery, if nothing has become of it since.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn postpone_delivery(
        &self,
        at: &DeliveryRef,
        was_due_at: i64,
        again_at: Timestamp,
    ) -> Result<(), Error> {
        let key = Key::delivery(&at.org_id, &at.webhook_id, &at.id);
        let later = Change::new()
            .set("dueAt", again_at.epoch_ms())
            .when("status", DeliveryStatus::Pending)
            .when("dueAt", was_due_at);
        self.update(&key, later).await?;
        Ok(())
    }
}

fn changed(new: &Delivery) -> Change {
    let progress = &new.progress;
    let change = Change::new()
        .set("status", progress.status)
        .set("attempts", &progress.attempts)
        .set_some("abandonedReason", progress.abandoned_reason.as_ref())
        .set("revision", new.revision + 1)
        .when("revision", new.revision);
    let change = match progress.next_attempt_at {
        Some(at) => change.set("nextAttemptAt", at),
        None => change.remove("nextAttemptAt"),
    };
    match new.due_at {
        Some(at) => change.set("dueAt", at),
        None => change.remove("dueAt").remove("dueShard"),
    }
}

/// The change that makes a delivery what it is to be, of just what that was made from.
pub(crate) fn change_of(new: &Delivery) -> (Key, Act) {
    let key = Key::delivery(&new.org_id, &new.webhook_id, &new.id);
    (key, Act::Change(changed(new)))
}

pub(crate) fn next_revision(mut new: Delivery) -> Delivery {
    new.revision += 1;
    new
}

/// True if an item in the way is what was wanted: a write whose reply was lost is refused when it
/// is tried again, and is there, with the attempt's own id.
pub(crate) fn is_as_wanted(item: Option<Item>, wanted: &Delivery) -> Result<bool, Error> {
    let Some(item) = item else {
        return Ok(false);
    };
    let found: Delivery = read(item)?;
    Ok(found.revision == wanted.revision + 1
        && found.progress.status == wanted.progress.status
        && found.progress.attempts == wanted.progress.attempts)
}
