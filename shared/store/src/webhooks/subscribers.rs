//! Whether an organization has webhooks. Without webhooks, an event is written to the timeline
//! only: no outbox item, no outbox notification, no read by the deliverer.
//!
//! A mark for their absence is on the organization's tally, and on each lease that is created under
//! it. Every transaction with an event for webhooks changes one of the two, and is conditional on
//! the mark it expects; so it needs no read, and no event is missed. Without the mark events enter
//! the outbox, which is always correct: the deliverer drops events without a subscriber.
//!
//! The marks are removed before a webhook is written, and set on the tally in the transaction that
//! deletes the last one. Leases of runs under way then stay without a mark.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use awo_domain::{Error, OrgId};
use futures::future::join_all;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{Item, SCHEMA_VERSION};
use crate::engine::key::Key;
use crate::engine::table::UpdateOutcome;
use crate::engine::transaction::{Refusal, Transaction};

/// The mark of a tally and of a lease: the organization has no webhooks.
pub(crate) const NO_WEBHOOKS: &str = "noWebhooks";
/// On the tally: how often the mark was set since the organization was made.
const MARKED: &str = "noWebhooksMarked";
/// More leases than an organization has.
const MAX_LEASES: u32 = 10_000;
/// Marks of leases that are removed at once.
const AT_ONCE: usize = 16;
/// Most organizations that a process remembers to have webhooks.
const MOST_KNOWN: usize = 10_000;

/// The organizations that had webhooks when this process last saw. It only decides which condition
/// a transaction is tried with first. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subscribers(Arc<Mutex<HashSet<OrgId>>>);

impl Subscribers {
    pub fn include(&self, org: &OrgId) -> bool {
        self.lock().contains(org)
    }

    pub fn note(&self, org: &OrgId, has_webhooks: bool) {
        let mut known = self.lock();
        if !has_webhooks {
            known.remove(org);
            return;
        }
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(org.clone());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<OrgId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Change {
    /// Only if the organization has webhooks, or has none, by the mark of this item.
    pub(crate) fn when_webhooks(self, has_webhooks: bool) -> Change {
        self.when_option(NO_WEBHOOKS, (!has_webhooks).then_some(true))
    }

    /// The organization's last webhook goes with this.
    pub(crate) fn no_webhooks(self) -> Change {
        self.set(NO_WEBHOOKS, true).add(MARKED, 1)
    }
}

/// Whether there are webhooks by a refused item; by an item that is not there, there may be some.
pub(crate) fn has_webhooks(refusal: &Refusal) -> bool {
    let item = refusal.item.as_ref();
    !item.is_some_and(|item| item.contains_key(NO_WEBHOOKS))
}

/// The marks of an organization are removed: a webhook may be written.
#[derive(Debug)]
pub(crate) struct Announcement {
    marked: Option<i64>,
}

impl Announcement {
    /// The change of the tally with which a webhook is written. It is refused if the tally was
    /// marked since.
    pub fn still(&self) -> Change {
        Change::new()
            .remove(NO_WEBHOOKS)
            .when_option(MARKED, self.marked)
    }
}

impl Store {
    /// Removes the marks of an organization: events that are committed from now on enter the
    /// outbox.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub(crate) async fn announce_webhooks(&self, org: &OrgId) -> Result<Announcement, Error> {
        let change = Change::new().remove(NO_WEBHOOKS).set("v", SCHEMA_VERSION);
        let key = Key::tally(org);
        let UpdateOutcome::New(tally) = self.update(&key, change).await? else {
            return Err(Error::internal("an unconditional update was refused"));
        };
        self.announce_to_runs(org).await?;
        Ok(Announcement {
            marked: number(&tally, MARKED),
        })
    }

    /// Marks the tally of an organization that has no webhooks, and no mark: one from before there
    /// were marks, or whose first webhook was not written after all.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn note_no_webhooks(&self, org: &OrgId) -> Result<(), Error> {
        let none = Change::new().add("count", 0).at_most_or_missing("count", 0);
        let mark = Change::new().no_webhooks().when_missing(NO_WEBHOOKS);
        let (count_key, tally) = (Key::webhook_count(org), Key::tally(org));
        // Refused, it has one now, or is marked.
        Transaction::new()
            .update(&count_key, none)
            .update(&tally, mark)
            .commit(self)
            .await?;
        Ok(())
    }

    /// Removes the marks of leases. The tally has none any more, so no lease gets one.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub(crate) async fn announce_to_runs(&self, org: &OrgId) -> Result<(), Error> {
        let leases = self.leases(org, MAX_LEASES).await?.items;
        let marked: Vec<_> = leases.iter().filter(|lease| lease.no_webhooks).collect();
        for some in marked.chunks(AT_ONCE) {
            let each = some.iter().map(|lease| async {
                let key = Key::lease(org, &lease.run_id);
                let change = Change::new().remove(NO_WEBHOOKS).when_present("runId");
                // Refused, the lease is gone.
                self.update(&key, change).await.map(drop)
            });
            join_all(each)
                .await
                .into_iter()
                .collect::<Result<(), _>>()?;
        }
        Ok(())
    }
}

fn number(item: &Item, name: &str) -> Option<i64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}
