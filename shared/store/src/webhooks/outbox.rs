//! The outbox: events of runs that are not yet deliveries. An event enters it in the transaction of
//! its cause, complete, and leaves it in the one that writes its deliveries: so each has its
//! deliveries once, despite crashes and purges of the run.

use awo_domain::event::TimelineEvent;
use awo_domain::webhook::delivery::DeliveryEvent;
use awo_domain::webhook::envelope::body;
use awo_domain::webhook::identity::{delivery_id, event_id};
use awo_domain::webhook::{EventType, MAX_WEBHOOKS};
use awo_domain::{AttemptId, DeliveryId, Error, EventId, OrgId, RunId, Timestamp, WebhookId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{SCHEMA_VERSION, due_shard};
use crate::engine::item_kind::{ItemKind, Table};
use crate::engine::key::{Key, outbox};
use crate::engine::list::{Page, Slice};
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::ledger::budgets::Alert;
use crate::runs::timeline::Subject;
use crate::sweep::{DueCursor, DueKey, DuePage};
use crate::webhooks::deliveries::{Delivery, Notice};
use crate::webhooks::notifications::{DeliveryRef, Notification};

/// How long a notification has before the sweep sends it again.
pub(crate) const NOTIFICATION_MS: i64 = 60_000;

/// An event whose deliveries are not created yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboxEvent {
    /// The owner.
    pub org_id: OrgId,
    /// The run that it is of, if it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Its sequence in that run's timeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// Its id for receivers.
    pub event_id: EventId,
    /// Its type.
    pub event_type: EventType,
    /// The body as it is signed and sent.
    pub body: String,
    pub(crate) due_shard: String,
    /// When the sweep reads it, Unix milliseconds.
    pub(crate) due_at: i64,
    pub(crate) v: u32,
}

/// A notification that was not done in time.
#[derive(Debug, Clone)]
pub enum OverdueItem {
    /// A delivery.
    Delivery {
        /// Where it is.
        at: DeliveryRef,
        /// When it was due, Unix milliseconds.
        due_at: i64,
    },
    /// An event of the outbox.
    Event {
        /// Whose outbox.
        org_id: OrgId,
    },
}

/// A webhook that is to get an event.
#[derive(Debug, Clone)]
pub struct Recipient {
    /// The webhook.
    pub webhook: WebhookId,
    /// The first attempt, if it is made at once: it is noted with the delivery.
    pub attempt: Option<AttemptId>,
}

impl OutboxEvent {
    /// What it is called in the outbox: events of a run stand there in their order.
    #[must_use]
    pub fn name(&self) -> String {
        match (&self.run_id, self.sequence) {
            (Some(run), Some(sequence)) => format!("{run}#{sequence:010}"),
            _ => self.event_id.to_string(),
        }
    }

    /// What an organization is alerted of.
    pub(crate) fn of_alert(
        org: &OrgId,
        event_id: EventId,
        alert: &Alert,
        now: Timestamp,
    ) -> Result<OutboxEvent, Error> {
        Ok(OutboxEvent {
            org_id: org.clone(),
            run_id: None,
            sequence: None,
            body: alert.body(&event_id, now)?,
            due_shard: due_shard(event_id.as_str()),
            event_id,
            event_type: alert.kind,
            due_at: now.plus_ms(NOTIFICATION_MS).epoch_ms(),
            v: SCHEMA_VERSION,
        })
    }
}

impl Transaction {
    /// Puts an event into the outbox, if there are webhooks.
    pub(crate) fn add_to_outbox(
        self,
        subject: &Subject<'_>,
        event_type: EventType,
        event: &TimelineEvent,
    ) -> Result<Transaction, Error> {
        let (org, run) = (subject.org, subject.run_id);
        let event_id = event_id(run, event.sequence, event.timestamp);
        Ok(self.event(OutboxEvent {
            org_id: org.clone(),
            run_id: Some(run.clone()),
            sequence: Some(event.sequence),
            body: body(&event_id, event).map_err(Error::internal)?,
            event_id,
            event_type,
            due_shard: due_shard(run.as_str()),
            due_at: event.timestamp.plus_ms(NOTIFICATION_MS).epoch_ms(),
            v: SCHEMA_VERSION,
        }))
    }
}

impl Store {
    /// Events of the organization whose deliveries are not created yet: those of a run in order.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn outbox(&self, org: &OrgId, limit: u32) -> Result<Page<OutboxEvent>, Error> {
        let slice = Slice::of_partition(outbox(org)).limit(limit);
        self.slice(slice).await
    }

    /// Notes a notification that no transaction of this store does.
    pub fn note(&self, notification: Notification) {
        self.notifications.note([notification]);
    }

    /// Takes an event out of the outbox and writes its deliveries, which are due at once. Answers
    /// those whose attempt is noted. Nothing is written if somebody else has done so.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn fan_out(
        &self,
        event: &OutboxEvent,
        to: &[Recipient],
        now: Timestamp,
    ) -> Result<Vec<Delivery>, Error> {
        let key = Key::outbox(&event.org_id, &event.name());
        let there = Change::new().when_present("pk");
        let mut transaction = Transaction::new().delete(&key, there);
        let mut begun = Vec::new();
        for Recipient { webhook, attempt } in to.iter().take(MAX_WEBHOOKS as usize) {
            let notice = Notice {
                event_id: event.event_id.clone(),
                event_type: event.event_type,
                run_id: event.run_id.clone(),
                body: event.body.clone(),
            };
            let id = delivery_id(&event.event_id, webhook);
            let mut delivery = Delivery::new(id, &event.org_id, webhook, notice, now);
            if let Some(attempt) = attempt {
                delivery = delivery.after(DeliveryEvent::Begun(attempt.clone(), now))?;
                begun.push(delivery.clone());
            }
            transaction = transaction.add_delivery(&delivery)?;
        }
        match transaction.commit(self).await? {
            CommitOutcome::Yes => Ok(begun),
            CommitOutcome::No(refusals) => {
                let refused: Vec<ItemKind> = refusals.iter().map(|refusal| refusal.kind).collect();
                if refused.contains(&ItemKind::Outbox) {
                    Ok(Vec::new())
                } else {
                    Err(Error::internal("a delivery was there before its event"))
                }
            }
        }
    }

    /// Notifications of a shard that were not done in time, oldest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn overdue_notifications(
        &self,
        shard: u8,
        after: Option<&DueCursor>,
        now: Timestamp,
        limit: u32,
    ) -> Result<DuePage<OverdueItem>, Error> {
        let partition = (Table::Deliveries, format!("due#{shard}"));
        let page = self.due_keys(partition, after, now, limit).await?;
        Ok(DuePage {
            items: page.items.iter().filter_map(OverdueItem::at).collect(),
            next: page.next,
        })
    }
}

impl OverdueItem {
    fn at(key: &DueKey) -> Option<OverdueItem> {
        let (org_id, kind) = key.owner()?;
        if kind == "outbox" {
            return Some(OverdueItem::Event { org_id });
        }
        let webhook = kind.strip_suffix("#delivery")?;
        let reference = DeliveryRef {
            org_id,
            webhook_id: WebhookId::parse(webhook).ok()?,
            id: DeliveryId::parse(&key.sk).ok()?,
        };
        let due_at = key.due_at;
        Some(OverdueItem::Delivery {
            at: reference,
            due_at,
        })
    }
}
