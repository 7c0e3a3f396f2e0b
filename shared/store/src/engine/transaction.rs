//! Several conditional writes that succeed or fail together.

use std::borrow::Borrow;
use std::time::Instant;

use awo_domain::Error;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, ReturnConsumedCapacity, TransactWriteItem};
use serde::Serialize;

use crate::engine::change::Change;
use crate::engine::item::Item;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::Key;
use crate::engine::table::{Store, failed, log};
use crate::engine::tries::Tries;
use crate::engine::turns::Wait;
use crate::engine::write::{Act, Write};
use crate::ledger::budgets::{Funds, OverBudget};
use crate::runs::lifecycle::lease::Lease;
use crate::webhooks::notifications::Notification;
use crate::webhooks::outbox::OutboxEvent;
use crate::webhooks::subscribers;

/// A write whose condition did not hold, with the item as it is.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Which of the transaction's writes it is, from 0.
    pub nth: usize,
    /// What it is a write of.
    pub kind: ItemKind,
    pub item: Option<Item>,
    /// The budget that it is of, if a hold would have passed one.
    pub over: Option<OverBudget>,
}

/// The outcome of a transaction.
#[derive(Debug)]
pub(crate) enum CommitOutcome {
    /// All of it happened.
    Yes,
    /// None of it happened, and these conditions did not hold.
    No(Vec<Refusal>),
}

impl CommitOutcome {
    /// True if all of it happened.
    pub fn is_yes(&self) -> bool {
        matches!(self, CommitOutcome::Yes)
    }
}

/// Writes to be committed together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transaction {
    writes: Vec<Write>,
    notifications: Vec<Notification>,
    /// Events for webhooks, which are written if the organization has any.
    outbox: Vec<OutboxEvent>,
    /// Whether it has, where a condition of these writes is on that already.
    has_webhooks: Option<bool>,
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
    pub fn put(self, key: &Key, item: &impl Serialize) -> Result<Transaction, Error> {
        self.put_when(key, item, Change::new().when_missing("pk"))
    }

    /// Puts an item if the condition of `when` holds; only its condition counts.
    pub fn put_when(
        self,
        key: &Key,
        item: &impl Serialize,
        when: Change,
    ) -> Result<Transaction, Error> {
        let item: Item = serde_dynamo::to_item(item)
            .map_err(|e| Error::internal(format!("an item does not write: {e}")))?;
        Ok(self.write(key, Act::Put(item, when)))
    }

    /// Changes an item if the change's condition holds.
    pub fn update(self, key: &Key, change: impl Borrow<Change>) -> Transaction {
        self.write(key, Act::Change(change.borrow().clone()))
    }

    /// Deletes an item if the condition of `when` holds.
    pub fn delete(self, key: &Key, when: impl Borrow<Change>) -> Transaction {
        self.write(key, Act::Delete(when.borrow().clone()))
    }

    /// Does this to an item.
    pub fn write(mut self, key: &Key, act: Act) -> Transaction {
        let key = key.clone();
        self.writes.push(Write { key, act });
        self
    }

    /// How many writes there are.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Makes another change in place of one of the writes.
    pub fn replace(&mut self, nth: usize, change: &Change) {
        if let Some(write) = self.writes.get_mut(nth) {
            write.act = Act::Change(change.clone());
        }
    }

    /// The change of the tally, which can have the condition on webhooks, and which of the writes it is.
    fn tally(&self) -> Option<(usize, &Write)> {
        let mut writes = self.writes.iter().enumerate();
        writes.find(|(_, write)| write.key.kind == ItemKind::Tally)
    }

    /// Commits, trying again when other transactions are in the way.
    ///
    /// The SDK gives each try a request token and keeps it over its own retries, so that a try
    /// whose reply was lost is not refused for what it did itself.
    pub async fn commit(mut self, store: &Store) -> Result<CommitOutcome, Error> {
        match self.funds.take() {
            Some(funds) => self.commit_funds(store, funds).await,
            None => self.commit_events(store).await,
        }
    }

    /// Commits with its events, if the organization has webhooks.
    pub(crate) async fn commit_events(self, store: &Store) -> Result<CommitOutcome, Error> {
        let Some(org) = self.outbox.first().map(|event| event.org_id.clone()) else {
            return self.commit_writes(store).await;
        };
        let (has_webhooks, tally) = match (self.has_webhooks, self.tally()) {
            (Some(known), _) => (known, None),
            (None, Some((nth, _))) => (store.subscribers.include(&org), Some(nth)),
            (None, None) => (true, None),
        };
        let mut has_webhooks = has_webhooks;
        let mut tries = Tries::new("the organization's first webhook came and went all the time");
        loop {
            tries.next().await?;
            let writes = self.clone().with_events(has_webhooks)?;
            let committed = writes.commit_writes(store).await?;
            let of_tally = match &committed {
                CommitOutcome::Yes => return Ok(committed),
                CommitOutcome::No(refusals) => refusals.iter().find(|of| Some(of.nth) == tally),
            };
            match of_tally.map(subscribers::has_webhooks) {
                Some(really) if really != has_webhooks => {
                    store.subscribers.note(&org, really);
                    has_webhooks = really;
                }
                _ => return Ok(committed),
            }
        }
    }

    /// With its events in the outbox or without, and conditional on that being right.
    fn with_events(mut self, has_webhooks: bool) -> Result<Transaction, Error> {
        let events = std::mem::take(&mut self.outbox);
        if self.has_webhooks.is_none() {
            let tally = self.writes.iter_mut();
            for write in tally
                .filter(|write| write.key.kind == ItemKind::Tally)
                .take(1)
            {
                if let Act::Change(change) = &mut write.act {
                    *change = std::mem::take(change).when_webhooks(has_webhooks);
                }
            }
        }
        if has_webhooks {
            for event in events {
                let key = Key::outbox(&event.org_id, &event.name());
                self = self
                    .notification(Notification::Outbox(event.org_id.clone()))
                    .put(&key, &event)?;
            }
        }
        Ok(self)
    }

    async fn commit_writes(self, store: &Store) -> Result<CommitOutcome, Error> {
        let mut wait = Wait::new(self.tally().map(|(_, write)| write.key.clone()));
        wait.before(store).await?;
        loop {
            if let Some(committed) = self.clone().try_to_commit(store).await? {
                return Ok(committed);
            }
            wait.after_conflict(store).await?;
        }
    }

    /// Commits; none if other transactions are in the way.
    pub async fn try_to_commit(self, store: &Store) -> Result<Option<CommitOutcome>, Error> {
        let items = self.writes.iter();
        let items: Vec<TransactWriteItem> = items
            .map(|write| write.to_transact_item(&store.tables))
            .collect::<Result<_, Error>>()?;
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
                return Ok(Some(CommitOutcome::Yes));
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
        let refusals = refusals(&self.writes, canceled);
        if !refusals.is_empty() {
            return Ok(Some(CommitOutcome::No(refusals)));
        }
        if in_progress || canceled.iter().any(is_passing) {
            Ok(None)
        } else {
            Err(failed("TransactWriteItems", &error))
        }
    }
}

/// The error when no try came through.
pub(crate) fn stayed_in_conflict() -> Error {
    Error::contended("TransactWriteItems: the items stayed in conflict with other transactions")
}

fn refusals(writes: &[Write], reasons: &[CancellationReason]) -> Vec<Refusal> {
    writes
        .iter()
        .zip(reasons)
        .enumerate()
        .filter(|(_, (_, reason))| reason.code() == Some("ConditionalCheckFailed"))
        .map(|(nth, (write, reason))| Refusal {
            nth,
            kind: write.key.kind,
            item: reason.item.clone().filter(|item| !item.is_empty()),
            over: None,
        })
        .collect()
}

/// Reasons that are not in the data: another transaction, or too many requests.
fn is_passing(reason: &CancellationReason) -> bool {
    matches!(
        reason.code(),
        Some("TransactionConflict" | "ThrottlingError" | "ProvisionedThroughputExceeded")
    )
}
