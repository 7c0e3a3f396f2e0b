use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use awo_local::function::{Function, event_function};
use awo_local::mapping::EventSourceMapping;
use awo_local::sqs::{NewMessage, QueueAttributes, RedrivePolicy};
use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent};
use lambda_runtime::LambdaEvent;
use tokio::sync::{Semaphore, mpsc};

use crate::cloud::{Sqs, eventually};

const TIMEOUT: Duration = Duration::from_secs(5);

/// A queue with a dead-letter queue, and a function behind it.
async fn mapped(function: Function, batch_size: usize, max_concurrency: usize) -> Sqs {
    let sqs = Sqs::start().await;
    sqs.queues
        .create("dead", QueueAttributes::default())
        .unwrap();
    let attributes = QueueAttributes {
        visibility_timeout: Duration::from_millis(100),
        redrive_policy: Some(RedrivePolicy {
            dead_letter_target_arn: "arn:aws:sqs:us-east-1:000000000000:dead".to_owned(),
            max_receive_count: 3,
        }),
        ..QueueAttributes::default()
    };
    sqs.queues.create("work", attributes).unwrap();
    sqs.registry.register("worker", function, TIMEOUT);
    let mapping = EventSourceMapping {
        queue: "work".to_owned(),
        function: "worker".to_owned(),
        batch_size,
        max_concurrency,
    };
    drop(mapping.start(
        sqs.queues.clone(),
        sqs.registry.clone(),
        sqs.shutdown.clone(),
    ));
    sqs
}

fn fill(sqs: &Sqs, bodies: &[&str]) {
    for body in bodies {
        sqs.queues.send("work", NewMessage::text(*body)).unwrap();
    }
}

async fn settled(sqs: &Sqs, dead: usize) {
    eventually("all messages are done", async || {
        let work = sqs.queues.counts("work").unwrap();
        let buried = sqs.queues.counts("dead").unwrap().ready;
        (work.ready + work.in_flight == 0 && buried == dead).then_some(())
    })
    .await;
}

#[tokio::test]
async fn one_poison_message_of_ten_is_retried_alone_and_ends_as_a_dead_letter() {
    let seen: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let record = Arc::clone(&seen);
    let function = event_function(move |event: LambdaEvent<SqsEvent>| {
        let mut answer = SqsBatchResponse::default();
        for message in event.payload.records {
            let body = message.body.unwrap();
            *record.lock().unwrap().entry(body.clone()).or_default() += 1;
            if body == "poison" {
                let mut failure = BatchItemFailure::default();
                failure.item_identifier = message.message_id.unwrap();
                answer.batch_item_failures.push(failure);
            }
        }
        async move { Ok(answer) }
    });
    let sqs = mapped(function, 10, 2).await;
    fill(
        &sqs,
        &["1", "2", "3", "4", "poison", "5", "6", "7", "8", "9"],
    );
    settled(&sqs, 1).await;
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 10);
    for (body, count) in seen {
        assert_eq!(count, if body == "poison" { 3 } else { 1 }, "{body}");
    }
}

#[tokio::test]
async fn a_panic_fails_the_batch_and_not_the_service() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let function = event_function(move |_: LambdaEvent<SqsEvent>| {
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        assert!(!first, "the first call panics");
        async move { Ok(()) }
    });
    let sqs = mapped(function, 1, 2).await;
    fill(&sqs, &["x"]);
    settled(&sqs, 0).await;
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_fails_the_whole_batch() {
    let function = event_function(|_: LambdaEvent<SqsEvent>| async move {
        Ok(serde_json::json!({"batchItemFailures": [{"itemIdentifier": "no such message"}]}))
    });
    let sqs = mapped(function, 10, 2).await;
    fill(&sqs, &["a", "b"]);
    settled(&sqs, 2).await;
}

#[tokio::test]
async fn an_invocation_is_dropped_at_its_timeout() {
    let function = event_function(|event: LambdaEvent<SqsEvent>| async move {
        let left = event.context.deadline.saturating_sub(epoch_millis());
        assert!((1..=200).contains(&left), "the deadline is {left} ms away");
        std::future::pending::<Result<(), lambda_runtime::Error>>().await
    });
    let sqs = mapped(
        event_function(|_: LambdaEvent<SqsEvent>| async move { Ok(()) }),
        1,
        2,
    )
    .await;
    sqs.registry
        .register("worker", function, Duration::from_millis(200));
    fill(&sqs, &["x"]);
    settled(&sqs, 1).await;
}

fn epoch_millis() -> u64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

#[tokio::test]
async fn no_more_batches_are_under_way_than_allowed() {
    let (gate, running) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let most = Arc::new(AtomicUsize::new(0));
    let (open, now, peak) = (Arc::clone(&gate), Arc::clone(&running), Arc::clone(&most));
    let function = event_function(move |_: LambdaEvent<SqsEvent>| {
        let (open, now, peak) = (Arc::clone(&open), Arc::clone(&now), Arc::clone(&peak));
        async move {
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            open.acquire().await?.forget();
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }
    });
    let sqs = mapped(function, 1, 2).await;
    fill(&sqs, &["a", "b", "c", "d", "e", "f"]);
    eventually("two run", async || {
        (running.load(Ordering::SeqCst) == 2).then_some(())
    })
    .await;
    assert_eq!(
        sqs.queues.counts("work").unwrap().ready,
        4,
        "the others were not even received"
    );
    gate.add_permits(100);
    settled(&sqs, 0).await;
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_invokes_its_function_within_five_milliseconds() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let function = event_function(move |_: LambdaEvent<SqsEvent>| {
        let sent = sender.send(Instant::now());
        async move { Ok(sent?) }
    });
    let sqs = mapped(function, 10, 2).await;
    let mut latencies = Vec::new();
    for _ in 0..31 {
        let start = Instant::now();
        fill(&sqs, &["x"]);
        latencies.push(receiver.recv().await.unwrap() - start);
        settled(&sqs, 0).await;
    }
    latencies.sort();
    println!(
        "from send to invocation: median {:?}, worst {:?}",
        latencies[15], latencies[30]
    );
    assert!(latencies[15] < Duration::from_millis(5), "{latencies:?}");
}
