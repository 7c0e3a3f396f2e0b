//! The limit of concurrent executions that all functions share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use awo_local::function::{InvocationError, Registry, event_function};
use lambda_runtime::LambdaEvent;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::cloud::eventually;

/// Functions that run until they are let go, and one that is done at once.
struct Functions {
    registry: Registry,
    go: Arc<Semaphore>,
    running: Arc<AtomicUsize>,
}

fn functions() -> Functions {
    let (registry, go) = (Registry::new(), Arc::new(Semaphore::new(0)));
    let running = Arc::new(AtomicUsize::new(0));
    for name in ["streams", "kills"] {
        let (go, running) = (Arc::clone(&go), Arc::clone(&running));
        let waits = event_function(move |_: LambdaEvent<Value>| {
            let go = Arc::clone(&go);
            running.fetch_add(1, Ordering::SeqCst);
            async move {
                go.acquire().await?.forget();
                Ok(())
            }
        });
        registry.register(name, waits, Duration::from_secs(60));
    }
    let control = event_function(|_: LambdaEvent<Value>| async { Ok(()) });
    registry.register("control", control, Duration::from_secs(60));
    Functions {
        registry,
        go,
        running,
    }
}

impl Functions {
    /// One of each that waits, once both run.
    async fn two_wait(&self) -> [tokio::task::JoinHandle<bool>; 2] {
        let waiting = ["streams", "kills"].map(|name| begin(&self.registry, name));
        eventually("both run", async || {
            (self.running.load(Ordering::SeqCst) == 2).then_some(())
        })
        .await;
        waiting
    }
}

fn begin(registry: &Registry, name: &'static str) -> tokio::task::JoinHandle<bool> {
    let registry = registry.clone();
    tokio::spawn(async move { registry.invoke(name, &json!({})).await.is_ok() })
}

async fn is_throttled(registry: &Registry, name: &str) -> bool {
    let invoked = registry.invoke(name, &json!({})).await;
    matches!(invoked, Err(InvocationError::Throttled))
}

#[tokio::test]
async fn functions_that_wait_starve_the_others_of_an_account_without_reservations() {
    let functions = functions();
    let registry = &functions.registry;
    registry.limit_concurrency(2, &[]);
    let waiting = functions.two_wait().await;
    assert!(is_throttled(registry, "control").await);
    functions.go.add_permits(2);
    for waits in waiting {
        assert!(waits.await.unwrap());
    }
    assert!(registry.invoke("control", &json!({})).await.is_ok());
}

#[tokio::test]
async fn a_reservation_is_a_guarantee_and_a_cap() {
    let functions = functions();
    let registry = &functions.registry;
    registry.limit_concurrency(3, &[("control", 1), ("streams", 1)]);
    let waiting = functions.two_wait().await;
    // One has all that is its own, the other all that is nobody's.
    assert!(is_throttled(registry, "streams").await);
    assert!(is_throttled(registry, "kills").await);
    assert!(registry.invoke("control", &json!({})).await.is_ok());
    functions.go.add_permits(2);
    for waits in waiting {
        assert!(waits.await.unwrap());
    }
}
