use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use awo_local::function::{Registry, event_function};
use awo_local::invoke_later::LaterInvocations;
use awo_local::shutdown::Shutdown;
use lambda_runtime::LambdaEvent;
use serde_json::{Value, json};

use crate::cloud::eventually;

/// A function that fails so many times, and how often it was called.
fn failing(times: usize) -> (LaterInvocations, Registry, Arc<AtomicUsize>) {
    let (registry, calls) = (Registry::new(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&calls);
    let function = event_function(move |_: LambdaEvent<Value>| {
        let call = count.fetch_add(1, Ordering::SeqCst);
        async move {
            if call < times {
                Err("not yet".into())
            } else {
                Ok(())
            }
        }
    });
    registry.register("event", function, Duration::from_secs(5));
    let waits = [Duration::from_millis(1); 2];
    (
        LaterInvocations::new(registry.clone(), Shutdown::new(), waits),
        registry,
        calls,
    )
}

#[tokio::test]
async fn an_event_is_tried_three_times_and_then_dropped() {
    for (failures, expected) in [(0, 1), (1, 2), (2, 3), (9, 3)] {
        let (later, registry, calls) = failing(failures);
        later.accept("event", json!({}), Duration::ZERO);
        eventually("the tries", async || {
            (calls.load(Ordering::SeqCst) == expected).then_some(())
        })
        .await;
        assert!(registry.drained(Duration::from_secs(5)).await);
        later.accept("unknown", json!({}), Duration::ZERO);
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(calls.load(Ordering::SeqCst), expected, "no further try");
    }
}
