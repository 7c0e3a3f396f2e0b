use std::time::{Duration, Instant};

use awo_local::sqs::{NewMessage, QueueAttributes, Receive};

use crate::cloud::{Sqs, eventually};

/// Far below a long poll's end, far above a slow machine's wake-up.
const AT_ONCE: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_long_poll_is_woken_by_a_message() {
    let sqs = Sqs::start().await;
    let url = sqs.queue("work", &[]).await;
    let poll = sqs
        .client
        .receive_message()
        .queue_url(&url)
        .wait_time_seconds(20)
        .send();
    let poll = tokio::spawn(poll);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let start = Instant::now();
    sqs.queues.send("work", NewMessage::text("now")).unwrap();
    let received = poll.await.unwrap().unwrap();
    assert_eq!(received.messages().len(), 1);
    assert!(
        start.elapsed() < AT_ONCE,
        "woken after {:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn a_long_poll_is_woken_when_a_message_becomes_visible() {
    let sqs = Sqs::start().await;
    let visibility_timeout = Duration::from_millis(200);
    let attributes = QueueAttributes {
        visibility_timeout,
        ..QueueAttributes::default()
    };
    sqs.queues.create("work", attributes).unwrap();
    sqs.queues.send("work", NewMessage::text("again")).unwrap();
    let receive = Receive {
        messages: 10,
        bytes: usize::MAX,
        wait: Some(Duration::from_secs(20)),
        visibility: None,
    };
    let first = sqs.queues.receive("work", receive).await.unwrap();
    let start = Instant::now();
    let second = sqs.queues.receive("work", receive).await.unwrap();
    assert_eq!(first[0].message.id, second[0].message.id);
    assert_eq!(second[0].message.receive_count, 2);
    let waited = start.elapsed();
    assert!(
        waited > visibility_timeout / 2 && waited < visibility_timeout + AT_ONCE,
        "{waited:?}"
    );
}

#[tokio::test]
async fn a_long_poll_is_woken_by_a_visibility_of_zero() {
    let sqs = Sqs::start().await;
    let url = sqs.queue("work", &[("VisibilityTimeout", "43200")]).await;
    sqs.queues.send("work", NewMessage::text("x")).unwrap();
    let received = sqs
        .client
        .receive_message()
        .queue_url(&url)
        .send()
        .await
        .unwrap();
    let handle = received.messages()[0].receipt_handle().unwrap();
    let poll = sqs
        .client
        .receive_message()
        .queue_url(&url)
        .wait_time_seconds(20)
        .send();
    let poll = tokio::spawn(poll);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let start = Instant::now();
    let change = sqs
        .client
        .change_message_visibility()
        .queue_url(&url)
        .receipt_handle(handle);
    change.visibility_timeout(0).send().await.unwrap();
    assert_eq!(poll.await.unwrap().unwrap().messages().len(), 1);
    assert!(start.elapsed() < AT_ONCE);
}

#[tokio::test]
async fn the_shutdown_ends_long_polls_and_the_server() {
    let sqs = Sqs::start().await;
    let url = sqs.queue("work", &[]).await;
    let poll = sqs
        .client
        .receive_message()
        .queue_url(&url)
        .wait_time_seconds(20)
        .send();
    let poll = tokio::spawn(poll);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let start = Instant::now();
    sqs.shutdown.begin();
    assert!(poll.await.unwrap().unwrap().messages().is_empty());
    assert!(start.elapsed() < AT_ONCE);
    eventually("the port is closed", async || {
        let host = sqs.endpoint.trim_start_matches("http://");
        tokio::net::TcpStream::connect(host).await.err()
    })
    .await;
}
