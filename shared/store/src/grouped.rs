//! Changes of deliveries and lanes that are asked for at about the same time, made in one
//! transaction: a batch of messages is of many receivers, who are served side by side, so a call for
//! each change would be most of what a delivery costs. What is asked for at once happens together or
//! not at all; none of it depends on what others ask for, so one that is refused is left out, and
//! the others are made without it.
//!
//! Who asks first waits a moment for the others and makes the changes of all. If it is dropped
//! meanwhile, each of the others makes its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use awo_domain::Error;
use futures::channel::oneshot;
use futures::future::join_all;

use crate::Store;
use crate::change::Change;
use crate::item::Key;
use crate::table::{CONFLICT_RETRIES, Updated, conflict_pause};
use crate::transaction::{Committed, Guard, Refusal, Transaction, stayed_in_conflict};

/// How long the first one waits for others.
const JOINING: Duration = Duration::from_millis(2);
/// Changes that are made together: a transaction takes a hundred items, of 4 MB in all.
const TOGETHER: usize = 50;

/// Changes of items that happen together or not at all.
pub(crate) type Changes = Vec<(Key, Change)>;

struct Asked {
    changes: Arc<Changes>,
    /// Told what came of them.
    answer: oneshot::Sender<Result<Committed, Error>>,
}

impl Asked {
    fn tell(self, what: Result<Committed, Error>) {
        // Who is gone needs no answer.
        let _gone = self.answer.send(what);
    }
}

/// The changes that wait for each other.
#[derive(Default)]
pub(crate) struct Grouped(Mutex<Vec<Asked>>);

impl std::fmt::Debug for Grouped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Grouped({})", self.lock().len())
    }
}

impl Grouped {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Asked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets nobody wait for one that is gone.
struct First<'a>(&'a Grouped);

impl First<'_> {
    fn all(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        drop(self.all());
    }
}

impl Store {
    /// The same store, which makes changes of deliveries and lanes together.
    #[must_use]
    pub fn grouping(self) -> Store {
        Store {
            grouped: Some(Arc::default()),
            ..self
        }
    }

    /// Changes deliveries and lanes if the conditions of all these changes hold. What was written
    /// by a try whose reply was lost may be told as refused: it is found as it was wanted then.
    pub(crate) async fn change(&self, changes: Changes) -> Result<Committed, Error> {
        let changes = Arc::new(changes);
        let Some(grouped) = &self.grouped else {
            return self.change_alone(&changes).await;
        };
        let (answer, told) = oneshot::channel();
        let asked = Asked {
            changes: Arc::clone(&changes),
            answer,
        };
        let is_first = {
            let mut waiting = grouped.lock();
            waiting.push(asked);
            waiting.len() == 1
        };
        if is_first {
            let all = {
                let first = First(grouped);
                tokio::time::sleep(JOINING).await;
                first.all()
            };
            self.change_all(all).await;
        }
        match told.await {
            Ok(told) => told,
            Err(_) => self.change_alone(&changes).await,
        }
    }

    async fn change_all(&self, mut all: Vec<Asked>) {
        while !all.is_empty() {
            let rest = all.split_off(first_group(&all));
            let some = std::mem::replace(&mut all, rest);
            self.change_some(some).await;
        }
    }

    /// Makes the changes of those who fit into a transaction.
    async fn change_some(&self, mut some: Vec<Asked>) {
        // It ends: each round but the last leaves out at least one.
        while some.len() > 1 {
            match self.commit_changes(some.iter().map(|of| &of.changes)).await {
                Ok(Committed::Yes) => {
                    some.into_iter().for_each(|of| of.tell(Ok(Committed::Yes)));
                    return;
                }
                Ok(Committed::No(refusals)) => some = tell_refused(some, refusals),
                // What was written after all is found as it was wanted.
                Err(error) => {
                    tracing::warn!(?error, "changes are made one by one");
                    break;
                }
            }
        }
        let each = some.into_iter().map(|of| async move {
            let made = self.change_alone(&of.changes).await;
            of.tell(made);
        });
        join_all(each).await;
    }

    async fn change_alone(&self, changes: &Arc<Changes>) -> Result<Committed, Error> {
        let [(key, change)] = changes.as_slice() else {
            return self.commit_changes(std::iter::once(changes)).await;
        };
        let table = &self.tables.deliveries;
        Ok(match self.update(table, key, change.clone()).await? {
            Updated::New(_) => Committed::Yes,
            Updated::Refused(item) => Committed::No(vec![Refusal {
                nth: 0,
                guard: Guard::Delivery,
                item,
            }]),
        })
    }

    async fn commit_changes(
        &self,
        all: impl Iterator<Item = &Arc<Changes>> + Clone,
    ) -> Result<Committed, Error> {
        for attempt in 0..=CONFLICT_RETRIES {
            let mut transaction = Transaction::new();
            for (key, change) in all.clone().flat_map(|changes| changes.iter()) {
                let table = &self.tables.deliveries;
                transaction = transaction.update(Guard::Delivery, table, key, change.clone())?;
            }
            if let Some(committed) = transaction.try_to_commit(self).await? {
                return Ok(committed);
            }
            conflict_pause(attempt).await;
        }
        Err(stayed_in_conflict())
    }
}

/// How many of them, from the first, fit into a transaction.
fn first_group(all: &[Asked]) -> usize {
    let mut items = 0;
    let fits = all.iter().take_while(|of| {
        items += of.changes.len();
        items <= TOGETHER
    });
    fits.count().max(1)
}

/// Tells those of whose changes one was refused, and keeps the others.
fn tell_refused(all: Vec<Asked>, refusals: Vec<Refusal>) -> Vec<Asked> {
    let mut refusals = refusals.into_iter().peekable();
    let (mut left, mut begin) = (Vec::new(), 0);
    for of in all {
        let end = begin + of.changes.len();
        let mut own = Vec::new();
        while let Some(refusal) = refusals.next_if(|refusal| refusal.nth < end) {
            own.push(Refusal {
                nth: refusal.nth - begin,
                ..refusal
            });
        }
        begin = end;
        match own.is_empty() {
            true => left.push(of),
            false => of.tell(Ok(Committed::No(own))),
        }
    }
    left
}
