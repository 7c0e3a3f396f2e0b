use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use awo_local::function::{Registry, event_function};
use awo_local::schedule::Schedule;
use awo_local::shutdown::Shutdown;
use lambda_runtime::LambdaEvent;
use serde_json::Value;

use crate::cloud::eventually;

#[tokio::test]
async fn a_schedule_never_runs_its_function_twice_at_a_time() {
    let (running, calls) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, count) = (Arc::clone(&running), Arc::clone(&calls));
    let (registry, shutdown) = (Registry::new(), Shutdown::new());
    let function = event_function(move |event: LambdaEvent<Value>| {
        let (now, count) = (Arc::clone(&now), Arc::clone(&count));
        async move {
            assert_eq!(event.payload["detail-type"], "Scheduled Event");
            assert_eq!(event.payload["source"], "aws.events");
            assert_eq!(event.payload["detail"], serde_json::json!({}));
            assert_eq!(now.fetch_add(1, Ordering::SeqCst), 0, "another one runs");
            // Longer than the period.
            tokio::time::sleep(Duration::from_millis(35)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            count.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    });
    registry.register("sweep", function, Duration::from_secs(5));
    let schedule = Schedule {
        name: "every-10-ms".to_owned(),
        function: "sweep".to_owned(),
        period: Duration::from_millis(10),
    };
    let running = schedule.start(registry, shutdown.clone());
    eventually("five calls", async || {
        (calls.load(Ordering::SeqCst) >= 5).then_some(())
    })
    .await;
    shutdown.begin();
    running.await.unwrap();
}
