//! The route of senders: acknowledged is stored, and what is not signed is refused alike.

use awo_domain::inbox::InboxKind;
use awo_tests::counted_requests::CountedRequests;
use awo_tests::seed::Seed;
use futures::{StreamExt, stream};
use serde_json::json;

use super::{BODY, github, log, patch, post, service, sweep};
use crate::authorisation::answers::same;

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
    assert_eq!(
        (&waiting[0]["outcome"], &waiting[0]["event"]),
        (&json!("pending"), &json!("ping"))
    );
    sweep(&service).await;
    let processed = log(&service, &inbox).await;
    let judged = (&processed[0]["outcome"], &processed[0]["reason"]);
    assert_eq!(judged, (&json!("ignored"), &json!("event")));
    let week = 7 * 24 * 3_600_000;
    service.service.cloud.clock.advance(week + 1_000);
    assert_eq!(post(&service, &inbox, BODY).await.status, 202);
}

#[tokio::test]
async fn an_unknown_a_disabled_and_a_wrongly_signed_inbox_answer_alike() {
    let service = service().await;
    let requests = CountedRequests::of(&service).await;
    let (inbox, disabled) = (github(&service).await, github(&service).await);
    let patched = patch(&service, &disabled, &json!({ "enabled": false })).await;
    assert_eq!(patched.status, 200);
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
        assert_eq!(
            *first.get_or_insert_with(|| outcome.clone()),
            outcome,
            "{path}"
        );
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
    assert_eq!(
        (replayed.status, &replayed.body["outcome"]),
        (202, &json!("pending"))
    );
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

#[tokio::test]
async fn a_suspended_organizations_deliveries_are_refused_as_unsigned_ones_whatever_their_body() {
    let service = service().await;
    let inbox = github(&service).await;
    let refused = post(&service, &inbox, b"not json").await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    let unsigned = super::send(&service, &inbox, &[], BODY).await;
    let store = service.service.cloud.store().unwrap();
    let now = service.service.cloud.clock.now();
    store.suspend(&service.org, now).await.unwrap();
    for body in [BODY, b"not json"] {
        let suspended = post(&service, &inbox, body).await;
        assert_eq!(suspended.status, 401, "{}", suspended.text);
        assert_eq!(same(&suspended), same(&unsigned));
    }
}

#[tokio::test]
async fn above_a_thousand_unprocessed_deliveries_an_organizations_senders_wait() {
    let service = service().await;
    let inbox = github(&service).await;
    let id = awo_domain::InboxId::parse(&inbox.id).unwrap();
    let seed = Seed::of(&service.service.cloud, &service.org);
    assert_eq!(post(&service, &inbox, BODY).await.status, 202);
    for _ in 1..1_000 {
        seed.unprocessed_delivery(&id, InboxKind::Github).await;
    }
    let full = post(&service, &inbox, br#"{"one":"more"}"#).await;
    assert_eq!((full.status, full.header("retry-after")), (503, "60"));
    assert_eq!(full.body["error"]["code"], "QUEUE_FULL");
    let duplicate = post(&service, &inbox, BODY).await;
    assert_eq!(duplicate.status, 503, "{}", duplicate.text);
    let (_, another) = service.another_org(1_000).await;
    let made = another
        .post(
            "/v1/inboxes",
            &json!({ "name": "Theirs", "kind": "github" }),
        )
        .await;
    let theirs = super::MadeInbox::of(&made);
    assert_eq!(post(&service, &theirs, BODY).await.status, 202);
    sweep(&service).await;
    assert_eq!(
        post(&service, &inbox, br#"{"one":"more"}"#).await.status,
        202
    );
}

#[tokio::test]
async fn of_the_same_delivery_by_many_senders_at_once_one_is_stored() {
    let service = service().await;
    let inbox = github(&service).await;
    let bodies: Vec<Vec<u8>> = (0..10)
        .map(|n| format!("{{\"n\":{n}}}").into_bytes())
        .collect();
    let sent = bodies.iter().cycle().take(100);
    let answers = stream::iter(sent.map(|body| post(&service, &inbox, body)))
        .buffer_unordered(16)
        .collect::<Vec<_>>()
        .await;
    let statuses = answers.iter().map(|answer| answer.status);
    let (stored, rest): (Vec<u16>, Vec<u16>) = statuses.partition(|status| *status == 202);
    assert_eq!(stored.len(), bodies.len());
    assert!(rest.iter().all(|status| *status == 200), "{rest:?}");
    assert_eq!(log(&service, &inbox).await.len(), bodies.len());
}

#[tokio::test]
async fn a_delivery_whose_body_cannot_be_stored_is_not_acknowledged() {
    let service = service().await;
    let inbox = github(&service).await;
    let nowhere = [("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")];
    let broken = CountedRequests::with(&service, &nowhere).await;
    let sender = broken.for_client(&service.client.with_key(None));
    let signature = format!("sha256={}", super::digits(&inbox.secret, BODY));
    let headers = [("x-hub-signature-256", signature.as_str())];
    let lost = sender
        .send("POST", &inbox.hook(), &headers, BODY.to_vec())
        .await;
    assert_eq!(lost.status, 500, "{}", lost.text);
    assert!(!lost.text.contains("S3"), "{}", lost.text);
    assert!(log(&service, &inbox).await.is_empty());
    assert_eq!(post(&service, &inbox, BODY).await.status, 202);
}
