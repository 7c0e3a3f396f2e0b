//! The timeline of runs. An event is written in the transaction of its cause, under the sequence
//! that the run's item assigns in the same transaction, so none is lost or duplicated.

use awo_domain::event::{TimelineEvent, TimelineEventType};
use awo_domain::work_order::TenantContext;
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use serde_json::Value;

use crate::Store;
use crate::engine::key::{Key, events};
use crate::engine::list::{Page, Slice};
use crate::engine::transaction::Transaction;

/// What every event of a run has besides its own data.
pub(crate) struct Subject<'a> {
    pub org: &'a OrgId,
    pub run_id: &'a RunId,
    pub work_order_id: &'a WorkOrderId,
    pub tenant_context: Option<&'a TenantContext>,
}

impl Subject<'_> {
    pub fn event(
        &self,
        sequence: u64,
        (kind, data): (TimelineEventType, Value),
        now: Timestamp,
    ) -> TimelineEvent {
        let mut data = data;
        if let Some(fields) = data.as_object_mut() {
            fields.insert("runId".to_owned(), self.run_id.as_str().into());
            fields.insert("workOrderId".to_owned(), self.work_order_id.as_str().into());
            fields.insert("sequence".to_owned(), sequence.into());
            if let Some(tenant) = self.tenant_context {
                fields.insert(
                    "tenantContext".to_owned(),
                    serde_json::to_value(tenant).unwrap_or(Value::Null),
                );
            }
        }
        TimelineEvent {
            sequence,
            kind: kind.as_str().to_owned(),
            timestamp: now,
            data,
        }
    }
}

impl Transaction {
    /// Adds an event to a run's timeline, and to the outbox if webhooks get it.
    pub(crate) fn append_event(
        self,
        store: &Store,
        subject: &Subject<'_>,
        sequence: u64,
        what: (TimelineEventType, Value),
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let webhook_type = what.0.webhook_type();
        let event = subject.event(sequence, what, now);
        let key = Key::event(subject.org, subject.run_id, sequence);
        let item = store.details.expiring(&event, now);
        let put = self.put(&key, &item)?;
        match webhook_type {
            Some(event_type) => put.add_to_outbox(subject, event_type, &event),
            None => Ok(put),
        }
    }
}

impl Store {
    /// Events of a run after a sequence, oldest first, but for those that have expired. Of another organization's run there are none.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn events(
        &self,
        org: &OrgId,
        run: &RunId,
        after: u64,
        limit: u32,
        now: Timestamp,
    ) -> Result<Page<TimelineEvent>, Error> {
        let from = Key::event(org, run, after).sk;
        let slice = Slice::of_partition(events(org, run))
            .range("sk", ">", aws_sdk_dynamodb::types::AttributeValue::S(from))
            .limit(limit)
            .unexpired(now);
        self.slice(slice).await
    }

    /// The last event of this type, unless it has expired.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn last_event(
        &self,
        org: &OrgId,
        run: &RunId,
        kind: TimelineEventType,
        now: Timestamp,
    ) -> Result<Option<TimelineEvent>, Error> {
        let slice = Slice::of_partition(events(org, run))
            .newest_first()
            .filter("type", Some(kind.as_str().to_owned()))
            .unexpired(now);
        Ok(self.slice(slice).await?.items.pop())
    }
}
