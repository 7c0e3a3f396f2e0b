//! Lambda's asynchronous invocation, by which EventBridge calls functions. Invariants: an event is
//! tried once and retried at most twice, then dropped with a log line; the number of waiting events
//! is bounded.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;

use crate::function::Registry;
use crate::shutdown::Shutdown;

/// Lambda waits one minute before the first retry and two before the second.
pub const RETRY_WAITS: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(120)];

/// Events under way or waiting for a retry.
const EVENTS: usize = 10_000;

/// The queue between an event source and the functions.
#[derive(Clone)]
pub struct LaterInvocations {
    registry: Registry,
    shutdown: Shutdown,
    waits: [Duration; 2],
    places: Arc<Semaphore>,
}

impl LaterInvocations {
    /// `waits` are the pauses before the retries: [`RETRY_WAITS`] in earnest.
    #[must_use]
    pub fn new(registry: Registry, shutdown: Shutdown, waits: [Duration; 2]) -> Self {
        Self {
            registry,
            shutdown,
            waits,
            places: Arc::new(Semaphore::new(EVENTS)),
        }
    }

    /// Takes an event, which is `late` by so much, and returns at once.
    pub fn accept(&self, function: &str, event: Value, late: Duration) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            tracing::error!(
                function,
                "an event was dropped: {EVENTS} others wait already"
            );
            return;
        };
        let (later, function) = (self.clone(), function.to_owned());
        tokio::spawn(async move {
            if !late.is_zero() {
                tokio::time::sleep(late).await;
            }
            later.deliver(&function, &event).await;
            drop(place);
        });
    }

    async fn deliver(&self, function: &str, event: &Value) {
        let mut waits = self.waits.iter();
        loop {
            let Err(error) = self.registry.invoke(function, event).await else {
                return;
            };
            let Some(wait) = waits.next() else {
                tracing::error!(function, %error, "an event was dropped after its last retry");
                return;
            };
            tracing::warn!(function, %error, ?wait, "an event will be tried again");
            tokio::select! {
                () = tokio::time::sleep(*wait) => {}
                () = self.shutdown.begun() => {
                    tracing::warn!(function, "an event was dropped by the shutdown");
                    return;
                }
            }
        }
    }
}
