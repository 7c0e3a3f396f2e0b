//! Changes of deliveries and lanes that are asked for at about the same time, made in one
//! transaction: a batch of messages is of many receivers, who are served side by side, so a call for
//! each change would be most of what a delivery costs. None depends on another: where one is
//! refused, each is made by itself.
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
use crate::item::{Item, Key};
use crate::table::Updated;
use crate::transaction::{Committed, Guard, Transaction};

/// How long the first one waits for others.
const JOINING: Duration = Duration::from_millis(2);
/// Changes that are made together: a transaction takes a hundred items, of 4 MB in all.
const TOGETHER: usize = 50;

/// What came of a change.
pub(crate) enum Changed {
    /// Done.
    Yes,
    /// Its condition did not hold; the item as it is, if there is one.
    Refused(Option<Item>),
}

impl From<Updated> for Changed {
    fn from(updated: Updated) -> Changed {
        match updated {
            Updated::New(_) => Changed::Yes,
            Updated::Refused(item) => Changed::Refused(item),
        }
    }
}

struct Asked {
    key: Key,
    change: Change,
    /// Told what came of it.
    answer: oneshot::Sender<Result<Changed, Error>>,
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

    /// Changes a delivery or a lane if the change's condition holds. One whose reply was lost may be
    /// told as refused: it is found as it was wanted then.
    pub(crate) async fn change(&self, key: &Key, change: Change) -> Result<Changed, Error> {
        let table = &self.tables.deliveries;
        let Some(grouped) = &self.grouped else {
            return Ok(self.update(table, key, change).await?.into());
        };
        let (answer, told) = oneshot::channel();
        let asked = Asked {
            key: key.clone(),
            change: change.clone(),
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
            Err(_) => Ok(self.update(table, key, change).await?.into()),
        }
    }

    async fn change_all(&self, mut all: Vec<Asked>) {
        while !all.is_empty() {
            let rest = all.split_off(all.len().min(TOGETHER));
            let some = std::mem::replace(&mut all, rest);
            // After an error as well: what was written after all is found as it was wanted.
            if some.len() > 1 && matches!(self.change_together(&some).await, Ok(Committed::Yes)) {
                for asked in some {
                    let _gone = asked.answer.send(Ok(Changed::Yes));
                }
                continue;
            }
            let each = some.into_iter().map(|asked| async move {
                let table = &self.tables.deliveries;
                let updated = self.update(table, &asked.key, asked.change).await;
                let _gone = asked.answer.send(updated.map(Changed::from));
            });
            join_all(each).await;
        }
    }

    async fn change_together(&self, all: &[Asked]) -> Result<Committed, Error> {
        let mut transaction = Transaction::new();
        for Asked { key, change, .. } in all {
            let table = &self.tables.deliveries;
            transaction = transaction.update(Guard::Delivery, table, key, change.clone())?;
        }
        transaction.commit(self).await
    }
}
