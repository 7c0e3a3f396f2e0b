//! Several conditional writes that succeed or fail together.

use std::borrow::Borrow;
use std::time::Instant;

use awo_domain::Error;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, Delete, Put, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};
use serde::Serialize;

use crate::budgets::{Funds, OverBudget};
use crate::change::Change;
use crate::item::Item;
use crate::item::Key;
use crate::lease::Lease;
use crate::notifications::Notification;
use crate::outbox::OutboxEvent;
use crate::subscribers;
use crate::table::{Store, failed, log};
use crate::turns::Wait;

/// How often a transaction is tried that finds the organization with its first webhook, or without
/// its last one.
const WEBHOOK_TRIES: u32 = 4;

/// Which of a transaction's writes it was that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    WorkOrder,
    Prompt,
    Parent,
    Child,
    Waiting,
    Cascade,
    Run,
    Event,
    Entry,
    Lease,
    Tally,
    Balance,
    Budget,
    Hold,
    ParentsHold,
    Settlement,
    Statement,
    LedgerEntry,
    Idempotency,
    Log,
    Diff,
    Usage,
    Organization,
    ApiKey,
    Template,
    TemplateCount,
    Environment,
    EnvironmentCount,
    Plugin,
    PluginCount,
    Webhook,
    WebhookCount,
    Delivery,
    Outbox,
    Verification,
    TaskPlace,
    CallPermit,
    Checkpoint,
    Cost,
    CostPolicy,
    Purge,
    Profile,
    ProfileChanges,
    Snapshot,
}

/// A write whose condition did not hold, with the item as it is.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Which of the transaction's writes it is, from 0.
    pub nth: usize,
    pub guard: Guard,
    pub item: Option<Item>,
    /// The budget that it is of, if a hold would have passed one.
    pub over: Option<OverBudget>,
}

/// What came of a transaction.
#[derive(Debug)]
pub(crate) enum Committed {
    /// All of it happened.
    Yes,
    /// None of it happened, and these conditions did not hold.
    No(Vec<Refusal>),
}

impl Committed {
    /// True if all of it happened.
    pub fn is_yes(&self) -> bool {
        matches!(self, Committed::Yes)
    }
}

/// Writes to be committed together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transaction {
    writes: Vec<(Guard, TransactWriteItem)>,
    notifications: Vec<Notification>,
    /// Events for webhooks, which are written if the organization has any.
    outbox: Vec<OutboxEvent>,
    /// Whether it has, where a condition of these writes is on that already.
    has_webhooks: Option<bool>,
    /// The change of the tally, which can have that condition, and which of the writes it is.
    tally: Option<(usize, Key, Change)>,
    /// What it changes of budgets, beside the balance.
    pub(crate) funds: Option<Funds>,
}

impl Transaction {
    pub fn new() -> Transaction {
        Transaction::default()
    }

    /// One with a condition on the mark of a lease ([`Change::when_webhooks`]), as it was read.
    pub fn of_lease(lease: &Lease) -> Transaction {
        Transaction {
            has_webhooks: Some(!lease.no_webhooks),
            ..Transaction::default()
        }
    }

    /// Notes a notification once this is committed.
    pub fn notification(mut self, notification: Notification) -> Transaction {
        self.notifications.push(notification);
        self
    }

    /// Puts an event into the outbox, if the organization has webhooks.
    pub fn event(mut self, event: OutboxEvent) -> Transaction {
        self.outbox.push(event);
        self
    }

    /// Puts an item that must not be there yet.
    pub fn put(
        self,
        guard: Guard,
        table: &str,
        key: &Key,
        item: &impl Serialize,
    ) -> Result<Transaction, Error> {
        self.put_when(guard, table, key, item, Change::new().when_missing("pk"))
    }

    /// Puts an item if the condition of `when` holds; only its condition counts.
    pub fn put_when(
        mut self,
        guard: Guard,
        table: &str,
        key: &Key,
        item: &impl Serialize,
        when: Change,
    ) -> Result<Transaction, Error> {
        let mut attributes: Item = serde_dynamo::to_item(item)
            .map_err(|e| Error::internal(format!("an item does not write: {e}")))?;
        attributes.extend(key.to_item());
        let parts = when.parts();
        let put = Put::builder()
            .table_name(table)
            .set_item(Some(attributes))
            .set_condition_expression(parts.condition)
            .set_expression_attribute_names((!parts.names.is_empty()).then_some(parts.names))
            .set_expression_attribute_values(parts.values)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
            .map_err(Error::internal)?;
        self.writes
            .push((guard, TransactWriteItem::builder().put(put).build()));
        Ok(self)
    }

    /// Changes an item.
    pub fn update(
        mut self,
        guard: Guard,
        table: &str,
        key: &Key,
        change: impl Borrow<Change>,
    ) -> Result<Transaction, Error> {
        let change = change.borrow();
        if guard == Guard::Tally {
            self.tally = Some((self.writes.len(), key.clone(), change.clone()));
        }
        self.writes.push((guard, update(table, key, change)?));
        Ok(self)
    }

    /// Deletes an item if the condition of `when` holds.
    pub fn delete(
        mut self,
        guard: Guard,
        table: &str,
        key: &Key,
        when: impl Borrow<Change>,
    ) -> Result<Transaction, Error> {
        let parts = when.borrow().parts();
        let delete = Delete::builder()
            .table_name(table)
            .set_key(Some(key.to_item()))
            .set_condition_expression(parts.condition)
            .set_expression_attribute_names((!parts.names.is_empty()).then_some(parts.names))
            .set_expression_attribute_values(parts.values)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
            .map_err(Error::internal)?;
        self.writes
            .push((guard, TransactWriteItem::builder().delete(delete).build()));
        Ok(self)
    }

    /// How many writes there are.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Makes another change of an item in place of one of the writes.
    pub fn replace(
        &mut self,
        nth: usize,
        table: &str,
        key: &Key,
        change: &Change,
    ) -> Result<(), Error> {
        if let Some((_, write)) = self.writes.get_mut(nth) {
            *write = update(table, key, change)?;
        }
        Ok(())
    }

    /// Commits, trying again when other transactions are in the way.
    ///
    /// The SDK gives each try a request token and keeps it over its own retries, so that a try
    /// whose reply was lost is not refused for what it did itself.
    pub async fn commit(mut self, store: &Store) -> Result<Committed, Error> {
        match self.funds.take() {
            Some(funds) => self.commit_funds(store, funds).await,
            None => self.commit_events(store).await,
        }
    }

    /// Commits with its events, if the organization has webhooks.
    pub(crate) async fn commit_events(self, store: &Store) -> Result<Committed, Error> {
        let Some(org) = self.outbox.first().map(|event| event.org_id.clone()) else {
            return self.commit_writes(store).await;
        };
        let (has_webhooks, tally) = match (self.has_webhooks, &self.tally) {
            (Some(known), _) => (known, None),
            (None, Some((nth, ..))) => (store.subscribers.include(&org), Some(*nth)),
            (None, None) => (true, None),
        };
        let mut has_webhooks = has_webhooks;
        for _ in 0..WEBHOOK_TRIES {
            let writes = self.clone().with_events(store, has_webhooks)?;
            let committed = writes.commit_writes(store).await?;
            let of_tally = match &committed {
                Committed::Yes => return Ok(committed),
                Committed::No(refusals) => refusals.iter().find(|of| Some(of.nth) == tally),
            };
            match of_tally.map(subscribers::has_webhooks) {
                Some(really) if really != has_webhooks => {
                    store.subscribers.note(&org, really);
                    has_webhooks = really;
                }
                _ => return Ok(committed),
            }
        }
        Err(Error::contended(
            "the organization's first webhook came and went all the time",
        ))
    }

    /// With its events in the outbox or without, and conditional on that being right.
    fn with_events(mut self, store: &Store, has_webhooks: bool) -> Result<Transaction, Error> {
        let events = std::mem::take(&mut self.outbox);
        if let (None, Some((nth, key, change))) = (self.has_webhooks, self.tally.clone()) {
            let change = change.when_webhooks(has_webhooks);
            self.writes[nth].1 = update(&store.tables.work, &key, &change)?;
        }
        if has_webhooks {
            for event in events {
                let key = Key::outbox(&event.org_id, &event.name());
                self = self
                    .notification(Notification::Outbox(event.org_id.clone()))
                    .put(Guard::Outbox, &store.tables.deliveries, &key, &event)?;
            }
        }
        Ok(self)
    }

    async fn commit_writes(self, store: &Store) -> Result<Committed, Error> {
        let mut wait = Wait::new(self.tally.as_ref().map(|(_, key, _)| key.clone()));
        wait.before(store).await?;
        loop {
            if let Some(committed) = self.clone().try_to_commit(store).await? {
                return Ok(committed);
            }
            wait.after_conflict(store).await?;
        }
    }

    /// Commits; none if other transactions are in the way.
    pub async fn try_to_commit(self, store: &Store) -> Result<Option<Committed>, Error> {
        let (guards, items): (Vec<Guard>, Vec<TransactWriteItem>) = self.writes.into_iter().unzip();
        let began = Instant::now();
        let answer = store
            .client
            .transact_write_items()
            .set_transact_items(Some(items))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await;
        let error = match answer {
            Ok(done) => {
                log("TransactWriteItems", began, done.consumed_capacity());
                store.notifications.note(self.notifications);
                store.turns.note_commit(began.elapsed());
                return Ok(Some(Committed::Yes));
            }
            Err(error) => error,
        };
        log("TransactWriteItems (refused)", began, &[]);
        let in_progress = error.code() == Some("TransactionInProgressException");
        let canceled = match error.as_service_error() {
            Some(TransactWriteItemsError::TransactionCanceledException(canceled)) => {
                canceled.cancellation_reasons()
            }
            _ if in_progress => &[],
            _ => return Err(failed("TransactWriteItems", &error)),
        };
        let refusals = refusals(&guards, canceled);
        if !refusals.is_empty() {
            return Ok(Some(Committed::No(refusals)));
        }
        match in_progress || canceled.iter().any(is_passing) {
            true => Ok(None),
            false => Err(failed("TransactWriteItems", &error)),
        }
    }
}

/// What is said when no try came through.
pub(crate) fn stayed_in_conflict() -> Error {
    Error::contended("TransactWriteItems: the items stayed in conflict with other transactions")
}

/// A change of an item as a part of a transaction.
fn update(table: &str, key: &Key, change: &Change) -> Result<TransactWriteItem, Error> {
    let parts = change.parts();
    let update = Update::builder()
        .table_name(table)
        .set_key(Some(key.to_item()))
        .update_expression(parts.update)
        .set_condition_expression(parts.condition)
        .set_expression_attribute_names(Some(parts.names))
        .set_expression_attribute_values(parts.values)
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .build()
        .map_err(Error::internal)?;
    Ok(TransactWriteItem::builder().update(update).build())
}

fn refusals(guards: &[Guard], reasons: &[CancellationReason]) -> Vec<Refusal> {
    guards
        .iter()
        .zip(reasons)
        .enumerate()
        .filter(|(_, (_, reason))| reason.code() == Some("ConditionalCheckFailed"))
        .map(|(nth, (guard, reason))| Refusal {
            nth,
            guard: *guard,
            item: reason.item.clone().filter(|item| !item.is_empty()),
            over: None,
        })
        .collect()
}

/// Reasons that say nothing about the data: another transaction, or too many requests.
fn is_passing(reason: &CancellationReason) -> bool {
    matches!(
        reason.code(),
        Some("TransactionConflict" | "ThrottlingError" | "ProvisionedThroughputExceeded")
    )
}
