//! Webhooks of organizations, with their secrets.
//!
//! A webhook and the count of its organization's webhooks change in one transaction, so that there
//! are never more than [`MAX_WEBHOOKS`]. A change is conditional on exactly the state it was made
//! from. Secrets are in the items of one partition, and in the stored responses that show them, in
//! another beside it; a role that cannot read the one cannot read the other.

pub mod addressed;
pub mod deliveries;
pub(crate) mod delivery_changes;
pub mod delivery_permits;
pub mod notifications;
pub mod outbox;
pub mod send_permits;
pub(crate) mod subscribers;
pub(crate) mod write_batch;

use awo_domain::webhook::signature::{OVERLAP_MS, Secret, Secrets};
use awo_domain::webhook::{MAX_WEBHOOKS, WebhookContent};
use awo_domain::{Error, OrgId, Resource, Timestamp, WebhookId};
use serde::Deserialize;

mod stored;

pub(crate) use stored::WebhookItem;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::idempotency::{
    IdempotentRequest, NewResponse, RequestOutcome, ResponseStore, StoredResponse, replay,
};
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, webhooks};
use crate::engine::list::Slice;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::engine::tries::Tries;
use crate::webhooks::subscribers::Announcement;

/// A webhook. It is not `Serialize`, and its secrets do not show themselves in logs.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// Its id.
    pub id: WebhookId,
    /// What its owner has set.
    pub content: WebhookContent,
    /// True if it gets events.
    pub enabled: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its owner last changed it.
    pub updated_at: Option<Timestamp>,
    /// What signs its deliveries.
    pub secrets: Secrets,
    /// Since when it is disabled.
    pub disabled_at: Option<Timestamp>,
    /// Why, if its owner did not do it: a sentence without a full stop.
    pub disabled_reason: Option<String>,
    revision: u32,
}

impl Webhook {
    /// One that is made now, enabled.
    #[must_use]
    pub fn new(id: WebhookId, content: WebhookContent, secret: Secret, now: Timestamp) -> Webhook {
        Webhook {
            id,
            content,
            enabled: true,
            created_at: now,
            updated_at: None,
            secrets: Secrets {
                current: secret,
                previous: None,
            },
            disabled_at: None,
            disabled_reason: None,
            revision: 1,
        }
    }

    /// When the secret before the present one signs for the last time, if it still does.
    #[must_use]
    pub fn previous_secret_expires_at(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.secrets.previous.as_ref().map(|(_, until)| *until);
        until.filter(|until| *until > now)
    }

    /// The same after its owner changed it. One that is disabled keeps its moment and its reason
    /// until it is enabled.
    #[must_use]
    pub fn updated(
        self,
        content: WebhookContent,
        enabled: Option<bool>,
        now: Timestamp,
    ) -> Webhook {
        let enabled = enabled.unwrap_or(self.enabled);
        let (disabled_at, disabled_reason) = match (enabled, self.enabled) {
            (true, _) => (None, None),
            (false, true) => (Some(now), None),
            (false, false) => (self.disabled_at, self.disabled_reason.clone()),
        };
        Webhook {
            content,
            enabled,
            updated_at: Some(now),
            disabled_at,
            disabled_reason,
            ..self
        }
    }

    /// The same after a rotation, and when the secret that signs now will sign for the last time.
    /// One that was still signing from a rotation before signs no more.
    #[must_use]
    pub fn rotated(&self, next: Secret, now: Timestamp) -> (Webhook, Timestamp) {
        let new = Webhook {
            secrets: self.secrets.clone().rotated(next, now),
            ..self.clone()
        };
        (new, now.plus_ms(OVERLAP_MS))
    }
}

#[derive(Deserialize)]
struct Count {
    count: i64,
}

impl Store {
    /// The organization's webhooks, newest first: one query.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn webhooks(&self, org: &OrgId) -> Result<Vec<Webhook>, Error> {
        let slice = Slice::of_partition(webhooks(org))
            .newest_first()
            .limit(MAX_WEBHOOKS);
        let items: Vec<WebhookItem> = self.slice(slice).await?.items;
        Ok(items.into_iter().map(Webhook::from).collect())
    }

    /// A webhook of this organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn webhook(&self, org: &OrgId, id: &WebhookId) -> Result<Option<Webhook>, Error> {
        let key = Key::webhook(org, id);
        let item: Option<WebhookItem> = self.get(&key).await?;
        Ok(item.map(Webhook::from))
    }

    /// The first response to a request that showed a secret, if that still counts.
    ///
    /// # Errors
    /// [`Error::IdempotencyMismatch`], or internal.
    pub async fn stored_webhook_response(
        &self,
        org: &OrgId,
        request: &IdempotentRequest,
        now: Timestamp,
    ) -> Result<Option<StoredResponse>, Error> {
        self.stored_response_in(ResponseStore::Webhooks, org, request, now)
            .await
    }

    /// Adds a webhook. `response` is what a replay of the same request gets.
    ///
    /// # Errors
    /// [`Error::Conflict`] if there are too many; [`Error::IdempotencyMismatch`], or internal; in
    /// every case nothing was written.
    pub async fn create_webhook(
        &self,
        org: &OrgId,
        webhook: &Webhook,
        response: Option<&NewResponse<'_>>,
    ) -> Result<RequestOutcome, Error> {
        let mut tries = Tries::new("create webhook: the last webhook was deleted all the time");
        loop {
            tries.next().await?;
            let announced = self.announce_webhooks(org).await?;
            let created = self.write_webhook(org, webhook, &announced, response);
            if let Some(created) = created.await? {
                // Again, for what was dispatched as the tally's mark was removed.
                self.announce_to_runs(org).await?;
                return Ok(created);
            }
        }
    }

    /// None if the organization had no webhooks meanwhile: then it is to be announced again.
    async fn write_webhook(
        &self,
        org: &OrgId,
        webhook: &Webhook,
        announced: &Announcement,
        response: Option<&NewResponse<'_>>,
    ) -> Result<Option<RequestOutcome>, Error> {
        let item = WebhookItem::of(webhook, webhook.revision);
        let (key, count_key) = (Key::webhook(org, &webhook.id), Key::webhook_count(org));
        let (responses, now) = (ResponseStore::Webhooks, webhook.created_at);
        let created = Transaction::new()
            .put(&key, &item)?
            .count_one_more(&count_key, MAX_WEBHOOKS)
            .update(&Key::tally(org), announced.still())
            .store_response_in(responses, org, response, now)?
            .commit(self)
            .await?;
        let refusals = match created {
            CommitOutcome::Yes => return Ok(Some(RequestOutcome::New(()))),
            CommitOutcome::No(refusals) => refusals,
        };
        let is_full = refusals.iter().any(|of| of.kind == ItemKind::WebhookCount);
        match replay(response, &refusals)? {
            Some(first) => Ok(Some(RequestOutcome::Replayed(first))),
            None if !is_full => Ok(None),
            None => Err(Error::Conflict(format!(
                "your organization has {MAX_WEBHOOKS} webhooks, the maximum: delete one first"
            ))),
        }
    }

    /// Writes `new`, which was made from what was read, over just that; none if the webhook is not so
    /// any more, or is gone. `response` is what a replay of the same request, made at `now`, gets.
    ///
    /// # Errors
    /// [`Error::IdempotencyMismatch`], or internal.
    pub async fn replace_webhook(
        &self,
        org: &OrgId,
        new: &Webhook,
        response: Option<&NewResponse<'_>>,
        now: Timestamp,
    ) -> Result<Option<RequestOutcome>, Error> {
        let item = WebhookItem::of(new, new.revision + 1);
        let unchanged = Change::new().when("revision", new.revision);
        let key = Key::webhook(org, &new.id);
        let replaced = Transaction::new()
            .put_when(&key, &item, unchanged)?
            .store_response_in(ResponseStore::Webhooks, org, response, now)?
            .commit(self)
            .await?;
        let refusals = match replaced {
            CommitOutcome::Yes => return Ok(Some(RequestOutcome::New(()))),
            CommitOutcome::No(refusals) => refusals,
        };
        Ok(replay(response, &refusals)?.map(RequestOutcome::Replayed))
    }

    /// Removes a webhook. What is pending for it is not sent any more, and DynamoDB removes its
    /// deliveries in their own time.
    ///
    /// # Errors
    /// [`Error::NotFound`], or internal.
    pub async fn delete_webhook(&self, org: &OrgId, id: &WebhookId) -> Result<(), Error> {
        let count_key = Key::webhook_count(org);
        let mut tries = Tries::new("delete webhook: other changes were always faster");
        loop {
            tries.next().await?;
            let found: Option<Count> = self.get(&count_key).await?;
            let count = found.map_or(0, |found| found.count);
            let one_less = Change::new().add("count", -1).when("count", count);
            let there = Change::new().when_present("pk");
            let mut transaction = Transaction::new()
                .delete(&Key::webhook(org, id), there)
                .update(&count_key, one_less);
            if count <= 1 {
                let tally = Key::tally(org);
                let none = Change::new().no_webhooks();
                transaction = transaction.update(&tally, none);
            }
            match transaction.commit(self).await? {
                CommitOutcome::Yes => return Ok(()),
                CommitOutcome::No(refusals)
                    if refusals.iter().any(|of| of.kind == ItemKind::Webhook) =>
                {
                    return Err(Error::NotFound(Resource::Webhook));
                }
                CommitOutcome::No(_) => {}
            }
        }
    }
}
