//! The route of senders: acknowledged is stored, and what is not signed is refused alike.

use awo_tests::counted_requests::CountedRequests;
use awo_tests::service::TestService;
use serde_json::json;

use super::{BODY, github, log, post, sweep};
use crate::authorisation::answers::same;

async fn service() -> TestService {
    TestService::unswept(1_000, &[]).await
}

#[tokio::test]
async fn a_signed_delivery_is_stored_once_and_processed() {
    let service = service().await;
    let inbox = github(&service).await;
    assert!(inbox.url.ends_with(&inbox.hook()), "{}", inbox.url);
    let stored = post(&service, &inbox, BODY).await;
    assert_eq!(stored.status, 202, "{}", stored.text);
    let again = post(&service, &inbox, BODY).await;
    assert_eq!(again.status, 200, "{}", again.text);
    let id = &stored.body["deliveryId"];
    assert_eq!(again.body, json!({ "deliveryId": id, "duplicate": true }));
    let waiting = log(&service, &inbox).await;
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    assert_eq!((&waiting[0]["outcome"], &waiting[0]["event"]), (&json!("pending"), &json!("ping")));
    sweep(&service).await;
    let processed = log(&service, &inbox).await;
    assert_eq!(processed[0]["outcome"], "ignored");
    let week = 7 * 24 * 3_600_000;
    service.service.cloud.clock.advance(week + 1_000);
    assert_eq!(post(&service, &inbox, BODY).await.status, 202);
}

#[tokio::test]
async fn an_unknown_a_disabled_and_a_wrongly_signed_inbox_answer_alike() {
    let service = service().await;
    let requests = CountedRequests::of(&service).await;
    let (inbox, disabled) = (github(&service).await, github(&service).await);
    let patched = service.client.send(
        "PATCH",
        &disabled.path(),
        &[("content-type", "application/json")],
        br#"{"enabled":false}"#.to_vec(),
    );
    assert_eq!(patched.await.status, 200);
    let sender = requests.for_client(&service.client.with_key(None));
    let signature = format!("sha256={}", super::digits(&disabled.secret, BODY));
    let signed = [("x-hub-signature-256", signature.as_str())];
    let nobodys = "/v1/hooks/inb_01k00000000000000000000000".to_owned();
    let mut first = None;
    for (path, headers) in [
        (inbox.hook(), &signed[..]),
        (inbox.hook(), &[]),
        (disabled.hook(), &signed),
        (nobodys, &signed),
        ("/v1/hooks/nonsense".to_owned(), &signed),
    ] {
        requests.calls();
        let refused = sender.send("POST", &path, headers, BODY.to_vec()).await;
        assert_eq!(refused.status, 401, "{path}: {}", refused.text);
        let outcome = (same(&refused), requests.calls());
        assert_eq!(*first.get_or_insert_with(|| outcome.clone()), outcome, "{path}");
    }
    assert!(log(&service, &inbox).await.is_empty());
}

#[tokio::test]
async fn a_replay_processes_again_until_the_body_is_gone() {
    let service = service().await;
    let inbox = github(&service).await;
    let stored = post(&service, &inbox, BODY).await.body;
    let id = stored["deliveryId"].as_str().unwrap();
    let path = format!("{}/deliveries/{id}/replay", inbox.path());
    let early = service.client.post(&path, &json!({})).await;
    assert_eq!(early.status, 409, "{}", early.text);
    sweep(&service).await;
    let replayed = service.client.post(&path, &json!({})).await;
    assert_eq!((replayed.status, &replayed.body["outcome"]), (202, &json!("pending")));
    sweep(&service).await;
    assert_eq!(log(&service, &inbox).await[0]["outcome"], "ignored");
    service.service.cloud.clock.advance(7 * 24 * 3_600_000);
    let late = service.client.post(&path, &json!({})).await;
    assert_eq!(late.status, 409, "{}", late.text);
}

#[tokio::test]
async fn a_body_that_is_no_json_or_too_large_or_of_another_method_is_refused() {
    let service = service().await;
    let inbox = github(&service).await;
    assert_eq!(post(&service, &inbox, b"not json").await.status, 400);
    let large = format!("\"{}\"", "x".repeat(4 * 1_024 * 1_024));
    assert_eq!(post(&service, &inbox, large.as_bytes()).await.status, 413);
    let fits = format!("\"{}\"", "x".repeat(4 * 1_024 * 1_024 - 2));
    assert_eq!(post(&service, &inbox, fits.as_bytes()).await.status, 202);
    let sender = service.client.with_key(None);
    let read = sender.get(&inbox.hook()).await;
    assert_eq!((read.status, read.header("allow")), (405, "POST, OPTIONS"));
}
