//! Deliveries: one of each event for each subscribed webhook, and its outcome.
//!
//! A delivery has its complete state: the body, byte by byte, the attempts, and the time of the
//! next one. It is in the index of due items exactly as long as it is pending. DynamoDB removes it
//! [`RETENTION_MS`] after its creation; nothing waits for that.

use awo_domain::webhook::delivery::{DeliveryEvent, DeliveryProgress};
use awo_domain::webhook::{DeliveryStatus, EventType};
use awo_domain::{DeliveryId, Error, EventId, OrgId, RunId, Timestamp, WebhookId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::idempotency::{NewResponse, RequestOutcome, replay};
use crate::engine::item::{SCHEMA_VERSION, due_shard};
use crate::engine::key::{Key, deliveries};
use crate::engine::list::{Page, Slice};
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::webhooks::notifications::{DeliveryRef, Notification};
use crate::webhooks::outbox::NOTIFICATION_MS;

/// How long a delivery is stored: 30 days.
pub const RETENTION_MS: i64 = 30 * 24 * 3_600_000;

/// The content of deliveries: an event, and the bytes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The event: the same at each attempt and in each delivery of it.
    pub event_id: EventId,
    /// Its type.
    pub event_type: EventType,
    /// The run that it is of.
    pub run_id: Option<RunId>,
    /// The body as it is signed and sent.
    pub body: String,
}

/// A delivery as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// Its id.
    pub id: DeliveryId,
    /// The owner.
    pub org_id: OrgId,
    /// To whom.
    pub webhook_id: WebhookId,
    /// The event.
    pub event_id: EventId,
    /// Its type.
    pub event_type: EventType,
    /// The run that it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The body as it is signed and sent.
    pub body: String,
    /// Its attempts, and what follows.
    #[serde(flatten)]
    pub progress: DeliveryProgress,
    /// When it was made.
    pub created_at: Timestamp,
    /// The delivery that a client wanted again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redelivery_of: Option<DeliveryId>,
    /// Index of due items, while it is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_shard: Option<String>,
    /// When the sweep reads it, Unix milliseconds, while it is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<i64>,
    /// Unix seconds after which DynamoDB may remove it.
    pub ttl: i64,
    /// How often it was written: a change is made to what was read.
    pub revision: u32,
    /// Shape of this item.
    pub v: u32,
}

impl Delivery {
    /// One that is due at once.
    #[must_use]
    pub fn new(
        id: DeliveryId,
        org: &OrgId,
        webhook: &WebhookId,
        notice: Notice,
        now: Timestamp,
    ) -> Delivery {
        Delivery {
            org_id: org.clone(),
            webhook_id: webhook.clone(),
            event_id: notice.event_id,
            event_type: notice.event_type,
            run_id: notice.run_id,
            body: notice.body,
            progress: DeliveryProgress::new(now),
            created_at: now,
            redelivery_of: None,
            due_shard: Some(due_shard(id.as_str())),
            due_at: Some(now.plus_ms(NOTIFICATION_MS).epoch_ms()),
            ttl: now.plus_ms(RETENTION_MS).epoch_seconds(),
            revision: 1,
            id,
            v: SCHEMA_VERSION,
        }
    }

    /// The delivery after `event`, with what the index of due items has of it.
    ///
    /// # Errors
    /// Internal, if the event cannot happen to it.
    pub fn after(&self, event: DeliveryEvent) -> Result<Delivery, Error> {
        let progress = self.progress.clone().after(event);
        let progress =
            progress.ok_or_else(|| Error::internal("no such event in this delivery's state"))?;
        let (status, next) = (progress.status, progress.next_attempt_at);
        let due = progress.under_way_until();
        let due = due.or(next.map(|at| at.plus_ms(NOTIFICATION_MS)));
        Ok(Delivery {
            progress,
            due_at: due.map(Timestamp::epoch_ms),
            due_shard: self.due_shard.clone().filter(|_| !status.is_terminal()),
            ..self.clone()
        })
    }

    /// Where it is.
    #[must_use]
    pub fn at(&self) -> DeliveryRef {
        DeliveryRef {
            org_id: self.org_id.clone(),
            webhook_id: self.webhook_id.clone(),
            id: self.id.clone(),
        }
    }

    /// The same event to the same webhook once more, with all attempts before it.
    #[must_use]
    pub fn again(&self, id: DeliveryId, now: Timestamp) -> Delivery {
        let notice = Notice {
            event_id: self.event_id.clone(),
            event_type: self.event_type,
            run_id: self.run_id.clone(),
            body: self.body.clone(),
        };
        Delivery {
            redelivery_of: Some(self.id.clone()),
            ..Delivery::new(id, &self.org_id, &self.webhook_id, notice, now)
        }
    }
}

impl Transaction {
    /// Adds a delivery that is not there yet. A caller that adds one with an attempt also makes the
    /// attempt; for any other delivery there is a notification.
    pub(crate) fn add_delivery(self, delivery: &Delivery) -> Result<Transaction, Error> {
        let key = Key::delivery(&delivery.org_id, &delivery.webhook_id, &delivery.id);
        let noted = if delivery.progress.attempts.is_empty() {
            self.notification(Notification::Delivery(delivery.at()))
        } else {
            self
        };
        noted.put(&key, delivery)
    }
}

impl Store {
    /// A delivery to a webhook of this organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn delivery(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        id: &DeliveryId,
    ) -> Result<Option<Delivery>, Error> {
        let key = Key::delivery(org, webhook, id);
        self.get(&key).await
    }

    /// Deliveries to a webhook, newest first, and how many there are in all.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn deliveries(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        status: Option<DeliveryStatus>,
        (limit, skip): (u32, u32),
        after: Option<&DeliveryId>,
    ) -> Result<(Page<Delivery>, u64), Error> {
        let status = status.map(|status| status.as_str().to_owned());
        let whole = Slice::of_partition(deliveries(org, webhook)).filter("status", status);
        let page = whole
            .clone()
            .newest_first()
            .limit(limit)
            .skip(skip)
            .after(after.map(|id| Key::delivery(org, webhook, id).to_item()));
        tokio::try_join!(self.slice(page), self.count(&whole))
    }

    /// Adds a delivery. `response` is what a replay of the same request gets.
    ///
    /// # Errors
    /// [`Error::IdempotencyMismatch`], or internal; in every case nothing was written.
    pub async fn create_delivery(
        &self,
        delivery: &Delivery,
        response: Option<&NewResponse<'_>>,
    ) -> Result<RequestOutcome, Error> {
        let (org, now) = (&delivery.org_id, delivery.created_at);
        let created = Transaction::new()
            .add_delivery(delivery)?
            .store_response(org, response, now)?
            .commit(self)
            .await?;
        let refusals = match created {
            CommitOutcome::Yes => return Ok(RequestOutcome::New(())),
            CommitOutcome::No(refusals) => refusals,
        };
        match replay(response, &refusals)? {
            Some(first) => Ok(RequestOutcome::Replayed(first)),
            None => Err(Error::internal("a new delivery has an id that is taken")),
        }
    }
}
