//! Changes of deliveries and delivery permits that are requested at about the same time, made in
//! one transaction. A batch of messages has many receivers, which are served in parallel, so
//! separate calls would be most of a delivery's cost. The changes of one request succeed or fail
//! together; requests do not depend on each other, so a refused one is left out, and the others are
//! made without it.
//!
//! The first caller waits briefly for others and makes the changes of all. If it is dropped
//! meanwhile, each of the others makes its own.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use awo_domain::Error;
use futures::channel::oneshot;
use futures::future::join_all;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::key::Key;
use crate::engine::table::{CONFLICT_RETRIES, UpdateOutcome, conflict_pause};
use crate::engine::transaction::{CommitOutcome, Refusal, Transaction, stayed_in_conflict};
use crate::engine::write::Act;

/// How long the first one waits for others.
const JOINING: Duration = Duration::from_millis(2);
/// Changes that are made together: a transaction takes a hundred items, of 4 MB in all.
const TOGETHER: usize = 50;

/// Changes of items that happen together or not at all.
#[derive(Debug)]
pub(crate) struct Changes {
    key: Key,
    /// Where the first change is tried next when it alone is refused.
    others: Vec<Key>,
    first: Act,
    second: Option<(Key, Act)>,
}

impl Changes {
    /// One change.
    pub(crate) fn new((key, first): (Key, Act)) -> Changes {
        Changes {
            key,
            others: Vec::new(),
            first,
            second: None,
        }
    }

    /// The same change of one of these items, the first where it is not refused; none without items.
    pub(crate) fn of_one(keys: impl IntoIterator<Item = Key>, change: Change) -> Option<Changes> {
        let mut keys = keys.into_iter();
        let first = Changes::new((keys.next()?, Act::Change(change)));
        Some(Changes {
            others: keys.collect(),
            ..first
        })
    }

    /// The same with another one.
    pub(crate) fn with(self, second: (Key, Act)) -> Changes {
        Changes {
            second: Some(second),
            ..self
        }
    }
}

/// Changes as they are tried now.
#[derive(Debug, Clone)]
struct BatchAttempt {
    changes: Arc<Changes>,
    /// How many items the first one was tried with before.
    nth: usize,
}

impl BatchAttempt {
    fn key(&self) -> &Key {
        let Changes { key, others, .. } = &*self.changes;
        let other = self.nth.checked_sub(1).and_then(|nth| others.get(nth));
        other.unwrap_or(key)
    }

    fn items(&self) -> impl Iterator<Item = (&Key, &Act)> {
        let second = self.changes.second.as_ref();
        std::iter::once((self.key(), &self.changes.first))
            .chain(second.map(|(key, act)| (key, act)))
    }

    /// The same with the next item, if there is one, and this one is in somebody else's hands.
    fn next(&self, refusals: &[Refusal]) -> Option<BatchAttempt> {
        let [Refusal { nth: 0, item, .. }] = refusals else {
            return None;
        };
        let is_ours = match (&self.changes.first, item) {
            (Act::Change(change), Some(item)) => change.is_made_in(item),
            _ => false,
        };
        self.elsewhere().filter(|_| !is_ours)
    }

    /// The same with the next item, if there is one.
    fn elsewhere(&self) -> Option<BatchAttempt> {
        (self.nth < self.changes.others.len()).then(|| BatchAttempt {
            changes: Arc::clone(&self.changes),
            nth: self.nth + 1,
        })
    }

    fn made(&self, committed: CommitOutcome) -> BatchOutcome {
        BatchOutcome {
            key: self.key().clone(),
            committed,
        }
    }
}

/// The outcome of changes.
#[derive(Debug)]
pub(crate) struct BatchOutcome {
    /// The item that the first one was tried with last.
    pub key: Key,
    pub committed: CommitOutcome,
}

struct QueuedChanges {
    tried: BatchAttempt,
    /// Gets what became of them.
    reply_to: oneshot::Sender<Result<BatchOutcome, Error>>,
}

impl QueuedChanges {
    fn answer(self, committed: CommitOutcome) {
        let made = self.tried.made(committed);
        // A caller that is gone needs no answer.
        let _gone = self.reply_to.send(Ok(made));
    }
}

/// The changes that wait for each other.
#[derive(Default)]
pub(crate) struct WriteBatches(Mutex<Vec<QueuedChanges>>);

impl std::fmt::Debug for WriteBatches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WriteBatches({})", self.lock().len())
    }
}

impl WriteBatches {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<QueuedChanges>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Releases those that wait for one that is gone.
struct First<'a>(&'a WriteBatches);

impl First<'_> {
    fn all(&self) -> Vec<QueuedChanges> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        drop(self.all());
    }
}

impl Store {
    /// The same store, which makes changes of deliveries and delivery permits together.
    #[must_use]
    pub fn with_write_batches(self) -> Store {
        Store {
            write_batches: Some(Arc::default()),
            ..self
        }
    }

    /// Changes deliveries and delivery permits if the conditions of all these changes hold. What was written
    /// by a try whose reply was lost may be reported as refused: it is found as it was wanted then.
    pub(crate) async fn change(&self, changes: Changes) -> Result<BatchOutcome, Error> {
        let tried = BatchAttempt {
            changes: Arc::new(changes),
            nth: 0,
        };
        let Some(write_batches) = &self.write_batches else {
            return self.change_alone(tried).await;
        };
        let (reply_to, reply) = oneshot::channel();
        let asked = QueuedChanges {
            tried: tried.clone(),
            reply_to,
        };
        let is_first = {
            let mut waiting = write_batches.lock();
            waiting.push(asked);
            waiting.len() == 1
        };
        if is_first {
            let all = {
                let first = First(write_batches);
                tokio::time::sleep(JOINING).await;
                first.all()
            };
            self.change_all(all).await;
        }
        match reply.await {
            Ok(outcome) => outcome,
            Err(_) => self.change_alone(tried).await,
        }
    }

    async fn change_all(&self, mut all: Vec<QueuedChanges>) {
        // It ends: each round is done with one at least, or has one item less to try.
        while !all.is_empty() {
            let (some, rest) = apart(all);
            all = self.change_some(some).await;
            all.extend(rest);
        }
    }

    /// Makes changes of different items in one transaction. Answers those that are still to be
    /// made, without the ones that were refused.
    async fn change_some(&self, some: Vec<QueuedChanges>) -> Vec<QueuedChanges> {
        if some.len() > 1 {
            match self.commit_changes(some.iter().map(|of| &of.tried)).await {
                Ok(CommitOutcome::Yes) => {
                    some.into_iter()
                        .for_each(|of| of.answer(CommitOutcome::Yes));
                    return Vec::new();
                }
                Ok(CommitOutcome::No(refusals)) => return still_tried(some, refusals),
                // What was written after all is found as it was wanted.
                Err(error) => tracing::warn!(
                    event = "writes_not_batched",
                    ?error,
                    "changes are written one by one"
                ),
            }
        }
        let each = some
            .into_iter()
            .map(|QueuedChanges { tried, reply_to }| async move {
                let made = self.change_alone(tried).await;
                // A caller that is gone needs no reply.
                let _gone = reply_to.send(made);
            });
        join_all(each).await;
        Vec::new()
    }

    async fn change_alone(&self, mut tried: BatchAttempt) -> Result<BatchOutcome, Error> {
        loop {
            let committed = match (&tried.changes.first, &tried.changes.second) {
                (Act::Change(change), None) => self.change_item(tried.key(), change).await?,
                _ => self.commit_changes(std::iter::once(&tried)).await?,
            };
            let next = match &committed {
                CommitOutcome::Yes => None,
                CommitOutcome::No(refusals) => tried.next(refusals),
            };
            match next {
                Some(next) => tried = next,
                None => return Ok(tried.made(committed)),
            }
        }
    }

    async fn change_item(&self, key: &Key, change: &Change) -> Result<CommitOutcome, Error> {
        let updated = self.update(key, change).await?;
        Ok(match updated {
            UpdateOutcome::New(_) => CommitOutcome::Yes,
            UpdateOutcome::Refused(item) => CommitOutcome::No(vec![Refusal {
                nth: 0,
                kind: key.kind,
                item,
                over: None,
            }]),
        })
    }

    async fn commit_changes(
        &self,
        all: impl Iterator<Item = &BatchAttempt> + Clone,
    ) -> Result<CommitOutcome, Error> {
        for attempt in 0..=CONFLICT_RETRIES {
            let mut transaction = Transaction::new();
            for (key, act) in all.clone().flat_map(BatchAttempt::items) {
                transaction = transaction.write(key, act.clone());
            }
            if let Some(committed) = transaction.try_to_commit(self).await? {
                return Ok(committed);
            }
            conflict_pause(attempt).await;
        }
        Err(stayed_in_conflict())
    }
}

/// Those that one transaction can make: it takes so many items, and each of them once. One whose
/// first change may be of another item is tried with the next that nobody else of them changes; what
/// finds none comes after them.
fn apart(all: Vec<QueuedChanges>) -> (Vec<QueuedChanges>, Vec<QueuedChanges>) {
    let mut items: HashSet<Key> = HashSet::new();
    let (mut some, mut rest) = (Vec::new(), Vec::new());
    for mut of in all {
        let is_free = |tried: &BatchAttempt| !tried.items().any(|(key, _)| items.contains(key));
        let mut tries = std::iter::successors(Some(of.tried.clone()), BatchAttempt::elsewhere);
        let found = tries.find(is_free).filter(|tried| {
            let too_many = items.len() + tried.items().count() > TOGETHER;
            some.is_empty() || !too_many
        });
        match found {
            Some(tried) => {
                items.extend(tried.items().map(|(key, _)| key.clone()));
                of.tried = tried;
                some.push(of);
            }
            None => rest.push(of),
        }
    }
    (some, rest)
}

/// Answers those with a change that was refused for good, and retains the others.
fn still_tried(all: Vec<QueuedChanges>, refusals: Vec<Refusal>) -> Vec<QueuedChanges> {
    let mut refusals = refusals.into_iter().peekable();
    let (mut left, mut begin) = (Vec::new(), 0);
    for mut of in all {
        let end = begin + of.tried.items().count();
        let mut own = Vec::new();
        while let Some(refusal) = refusals.next_if(|refusal| refusal.nth < end) {
            own.push(Refusal {
                nth: refusal.nth - begin,
                ..refusal
            });
        }
        begin = end;
        if let Some(next) = of.tried.next(&own) {
            of.tried = next;
            left.push(of);
        } else if own.is_empty() {
            left.push(of);
        } else {
            of.answer(CommitOutcome::No(own));
        }
    }
    left
}
