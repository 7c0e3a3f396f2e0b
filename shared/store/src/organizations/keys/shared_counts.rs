//! Requests of one key and window that arrive in one process while an update counts earlier ones are
//! counted together by the next update. A process in Lambda has one request at a time. On one machine
//! a process has all clients, and each update waits for a disk flush.
//!
//! Invariants: the update that counts a request begins after the request arrived; requests are counted
//! in the order of their arrival; an update ends early only if all of its requests are gone; nothing
//! is stored of a key without requests under way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use awo_domain::Error;
use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::Credential;

/// A key's hash and the start of a rate window.
pub(super) type Window = (String, i64);

/// Most requests that one update counts: as many as one machine runs at once.
const MOST: usize = 1_000;

/// The credential after an update, or for one of its requests: the count is this request's number.
type CountOutcome = Result<Credential, Error>;

/// A request that waits for its number.
type Request = oneshot::Sender<CountOutcome>;

type Requests = HashMap<Window, UnboundedSender<Request>>;

/// The requests under way, by key and window. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedCounts(Arc<Mutex<Requests>>);

impl SharedCounts {
    /// Counts a request. `update` adds so many requests to the window.
    ///
    /// # Errors
    /// What the update failed with, for each request that it would have counted.
    pub(super) async fn count<F, U>(&self, window: Window, update: F) -> CountOutcome
    where
        F: Fn(u32) -> U + Send + Sync + 'static,
        U: Future<Output = CountOutcome> + Send + 'static,
    {
        let (request, counted) = oneshot::channel();
        self.join(window, request, update);
        let ended = |_| Err(Error::internal("the update that counts a request ended"));
        counted.await.unwrap_or_else(ended)
    }

    fn join<F, U>(&self, window: Window, request: Request, update: F)
    where
        F: Fn(u32) -> U + Send + Sync + 'static,
        U: Future<Output = CountOutcome> + Send + 'static,
    {
        let mut requests = self.lock();
        let joined = match requests.get(&window) {
            Some(waiting) => waiting.send(request),
            None => Err(SendError(request)),
        };
        if let Err(SendError(first)) = joined {
            let (waiting, arrivals) = unbounded_channel();
            // Its receiver is here, so it arrives.
            drop(waiting.send(first));
            requests.insert(window.clone(), waiting);
            // A task of its own: the first request may be gone before the others.
            tokio::spawn(self.clone().count_arrivals(window, arrivals, update));
        }
    }

    /// Counts requests until none arrives during an update.
    async fn count_arrivals<F, U>(
        self,
        window: Window,
        mut arrivals: UnboundedReceiver<Request>,
        update: F,
    ) where
        F: Fn(u32) -> U,
        U: Future<Output = CountOutcome>,
    {
        loop {
            // Requests that have arrived, but had no turn yet, join the update.
            tokio::task::yield_now().await;
            let Some(mut together) = self.next(&window, &mut arrivals) else {
                return;
            };
            let added = u32::try_from(together.len()).unwrap_or(u32::MAX);
            tokio::select! {
                biased;
                counted = update(added) => answer(together, added, &counted),
                () = all_gone(&mut together) => {}
            }
        }
    }

    /// The requests that the next update counts; none if none waits. Under the lock, so that no
    /// request joins a window that is about to be removed.
    fn next(
        &self,
        window: &Window,
        arrivals: &mut UnboundedReceiver<Request>,
    ) -> Option<Vec<Request>> {
        let mut requests = self.lock();
        let mut together = Vec::new();
        while together.len() < MOST
            && let Ok(request) = arrivals.try_recv()
        {
            if !request.is_closed() {
                together.push(request);
            }
        }
        if together.is_empty() {
            requests.remove(window);
            return None;
        }
        Some(together)
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer(together: Vec<Request>, added: u32, counted: &CountOutcome) {
    let mut later = added;
    for request in together {
        later -= 1;
        let own = counted.clone().map(|credential| Credential {
            window_count: credential.window_count.saturating_sub(later),
            ..credential
        });
        // A request that is gone needs no number.
        drop(request.send(own));
    }
}

async fn all_gone(together: &mut [Request]) {
    for request in together {
        request.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use awo_domain::api_key::{ApiKey, RANDOM_BYTES};
    use awo_domain::{OrgId, Timestamp};
    use futures::future::join_all;
    use tokio::sync::Semaphore;
    use tokio::task::JoinHandle;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    /// A table with one window. An update waits for permission.
    struct Table {
        counts: SharedCounts,
        permits: Arc<Semaphore>,
        /// What each update added.
        added: Arc<Mutex<Vec<u32>>>,
    }

    impl Table {
        fn new() -> Table {
            Table {
                counts: SharedCounts::default(),
                permits: Arc::new(Semaphore::new(0)),
                added: Arc::default(),
            }
        }

        fn added(&self) -> Vec<u32> {
            self.added.lock().unwrap().clone()
        }

        /// A request; `fails` decides by an update's number whether it fails.
        fn request_or(&self, fails: fn(usize) -> bool) -> JoinHandle<CountOutcome> {
            let (counts, permits, added) = (
                self.counts.clone(),
                Arc::clone(&self.permits),
                Arc::clone(&self.added),
            );
            tokio::spawn(async move {
                let update = move |requests| {
                    let (permits, added) = (Arc::clone(&permits), Arc::clone(&added));
                    async move {
                        let nth = {
                            let mut added = added.lock().unwrap();
                            added.push(requests);
                            added.len()
                        };
                        permits.acquire().await.unwrap().forget();
                        if fails(nth) {
                            return Err(Error::internal("the disk is full"));
                        }
                        let added = added.lock().unwrap();
                        Ok(credential(added[..nth].iter().sum()))
                    }
                };
                counts.count(("hash".to_owned(), 0), update).await
            })
        }

        fn request(&self) -> JoinHandle<CountOutcome> {
            self.request_or(|_| false)
        }

        /// Waits until so many updates have begun, and every request that was made has arrived.
        async fn begun(&self, updates: usize) {
            let begun = async {
                while self.added().len() < updates {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(LIMIT, begun).await.unwrap();
            settled().await;
        }

        async fn is_empty(&self) {
            let empty = async {
                while !self.counts.lock().is_empty() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(LIMIT, empty).await.unwrap();
        }
    }

    /// Tests have one thread: by then every task has run as far as it can.
    async fn settled() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    fn credential(window_count: u32) -> Credential {
        Credential {
            key_id: ApiKey::new([0; RANDOM_BYTES]).id(),
            org_id: OrgId::new(Timestamp::from_epoch_ms(0), 0),
            scopes: Vec::new(),
            requests_per_minute: None,
            cursor_key: String::new(),
            expires_at: None,
            suspended_at: None,
            window_start: 0,
            window_count,
            v: 1,
        }
    }

    async fn numbers(requests: Vec<JoinHandle<CountOutcome>>) -> Vec<u32> {
        let counted = tokio::time::timeout(LIMIT, join_all(requests)).await;
        let counted = counted.unwrap().into_iter();
        counted
            .map(|request| request.unwrap().unwrap().window_count)
            .collect()
    }

    #[tokio::test]
    async fn requests_that_arrive_during_an_update_share_the_next_in_the_order_of_their_arrival() {
        let table = Table::new();
        let mut requests = vec![table.request()];
        table.begun(1).await;
        requests.extend((0..5).map(|_| table.request()));
        settled().await;
        assert_eq!(table.added(), [1], "one update at a time");
        table.permits.add_permits(2);
        assert_eq!(numbers(requests).await, [1, 2, 3, 4, 5, 6]);
        assert_eq!(table.added(), [1, 5]);
        table.is_empty().await;
    }

    #[tokio::test]
    async fn a_request_that_goes_away_strands_no_other_and_is_not_counted_if_its_update_has_not_begun()
     {
        let table = Table::new();
        let first = table.request();
        table.begun(1).await;
        let (second, gone, third) = (table.request(), table.request(), table.request());
        settled().await;
        gone.abort();
        first.abort();
        // No request waits for the first update, so it ends; the next one begins without a permit.
        table.begun(2).await;
        second.abort();
        settled().await;
        table.permits.add_permits(1);
        assert_eq!(numbers(vec![third]).await, [3]);
        assert_eq!(table.added(), [1, 2]);
        table.is_empty().await;
    }

    #[tokio::test]
    async fn an_update_that_fails_fails_the_requests_that_share_it_and_no_other() {
        let table = Table::new();
        let second_fails = |nth| nth == 2;
        let first = table.request_or(second_fails);
        table.begun(1).await;
        let shared = [(); 3].map(|()| table.request_or(second_fails));
        settled().await;
        table.permits.add_permits(1);
        table.begun(2).await;
        let last = table.request_or(second_fails);
        settled().await;
        table.permits.add_permits(2);
        for request in shared {
            let failed = request.await.unwrap().unwrap_err();
            assert!(matches!(failed, Error::Internal { .. }), "{failed:?}");
        }
        assert_eq!(numbers(vec![first, last]).await, [1, 5]);
        table.is_empty().await;
    }

    #[tokio::test]
    async fn an_update_that_panics_ends_its_requests_and_the_next_request_begins_anew() {
        let table = Table::new();
        let panics = |_| panic!("as the test wants it");
        let requests = [table.request_or(panics), table.request_or(panics)];
        table.begun(1).await;
        let waiting = table.request_or(panics);
        table.permits.add_permits(1);
        for request in requests.into_iter().chain([waiting]) {
            request.await.unwrap().unwrap_err();
        }
        table.permits.add_permits(1);
        assert_eq!(numbers(vec![table.request()]).await.len(), 1);
        table.is_empty().await;
    }
}
