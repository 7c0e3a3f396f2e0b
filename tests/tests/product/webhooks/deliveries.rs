//! Deliveries of webhooks, listed and repeated. The first one of an event is written to the store
//! as after a read of the outbox; `events` covers how it gets there.

use awo_domain::webhook::DeliveryStatus;
use awo_store::webhooks::deliveries::Delivery;
use awo_tests::client::Answer;
use awo_tests::seed::Seed;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use super::{delete, fails, id, made, patch, webhook_id};
use crate::http_api::quiet_service;

const NOBODYS: &str = "dlv_01k00000000000000000000000";

async fn delivery(service: &TestService, webhook: &Value, status: DeliveryStatus) -> Delivery {
    let seed = Seed::of(&service.service.cloud, &service.org);
    seed.delivery(&webhook_id(webhook), status).await
}

async fn redeliver(service: &TestService, path: &str, id: &str, key: Option<&str>) -> Answer {
    let path = format!("{path}/deliveries/{id}/redeliver");
    let key = key.map(|key| ("idempotency-key", key));
    let sent = service
        .client
        .send("POST", &path, key.as_slice(), Vec::new());
    sent.await
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["deliveries"].as_array().unwrap();
    items.iter().map(id).collect()
}

#[tokio::test]
async fn deliveries_are_shown_with_their_attempts_and_when_the_next_is_due() {
    let service = quiet_service().await;
    let (body, path) = made(&service.client).await;
    let list = format!("{path}/deliveries");
    let none = service.client.get(&list).await.body;
    assert_eq!(
        none,
        json!({ "deliveries": [], "total": 0, "limit": 20, "offset": 0 })
    );
    let over = delivery(&service, &body["webhook"], DeliveryStatus::Abandoned).await;
    let due = delivery(&service, &body["webhook"], DeliveryStatus::Pending).await;
    let shown = service.client.get(&list).await.body;
    let wanted = json!([
        {
            "id": due.id, "eventId": due.event_id, "eventType": "run.completed", "runId": due.run_id,
            "status": "pending", "attempts": [], "createdAt": due.created_at,
            "nextAttemptAt": due.progress.next_attempt_at,
        },
        {
            "id": over.id, "eventId": over.event_id, "eventType": "run.completed",
            "runId": over.run_id, "status": "abandoned", "createdAt": over.created_at,
            "attempts": over.progress.attempts,
        },
    ]);
    assert_eq!(shown["deliveries"], wanted);
    let first = &shown["deliveries"][1]["attempts"][0];
    assert_eq!(
        (&first["number"], &first["statusCode"]),
        (&json!(1), &json!(503))
    );
    assert!(!shown.to_string().contains("\"body\""), "{shown}");
    let other = made(&service.client).await.1;
    let of_other = service
        .client
        .get(&format!("{other}/deliveries"))
        .await
        .body;
    assert_eq!(of_other["total"], 0);
    assert_eq!(delete(&service.client, &path).await.status, 204);
    fails(&service.client.get(&list).await, 404, "WEBHOOK_NOT_FOUND");
}

#[tokio::test]
async fn deliveries_come_newest_first_by_status_and_in_pages() {
    let service = quiet_service().await;
    let client = &service.client;
    let (body, path) = made(client).await;
    let (mut all, mut delivered) = (Vec::new(), Vec::new());
    for turn in 0..7 {
        let status = [DeliveryStatus::Delivered, DeliveryStatus::Pending][turn % 2];
        let made = delivery(&service, &body["webhook"], status)
            .await
            .id
            .to_string();
        all.insert(0, made.clone());
        if status == DeliveryStatus::Delivered {
            delivered.insert(0, made);
        }
    }
    for (query, wanted) in [("", &all), ("&status=delivered", &delivered)] {
        let first = format!("{path}/deliveries?limit=2{query}");
        let (mut seen, mut next) = (Vec::new(), first.clone());
        loop {
            let page = client.get(&next).await.body;
            assert_eq!(page["total"], json!(wanted.len()), "{page}");
            seen.extend(ids(&page));
            match page["nextCursor"].as_str() {
                Some(cursor) => next = format!("{first}&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(seen, *wanted);
        let by_offset = client.get(&format!("{first}&offset=3")).await.body;
        assert_eq!(ids(&by_offset), wanted[3..wanted.len().min(5)]);
    }
    // A cursor is of one webhook and one status.
    let page = client.get(&format!("{path}/deliveries?limit=1")).await.body;
    let cursor = page["nextCursor"].as_str().unwrap();
    let (_, other) = made(client).await;
    for bad in [
        format!("{path}/deliveries?status=pending&cursor={cursor}"),
        format!("{other}/deliveries?cursor={cursor}"),
        format!("{path}/deliveries?status=failed"),
    ] {
        fails(&client.get(&bad).await, 400, "BAD_REQUEST");
    }
}

#[tokio::test]
async fn a_delivery_is_made_once_more_with_the_same_event_and_body() {
    let service = quiet_service().await;
    let (body, path) = made(&service.client).await;
    let old = delivery(&service, &body["webhook"], DeliveryStatus::Abandoned).await;
    let again = redeliver(&service, &path, old.id.as_str(), None).await;
    assert_eq!(again.status, 200, "{}", again.text);
    let wanted = json!({
        "id": again.body["id"], "eventId": old.event_id, "eventType": old.event_type,
        "runId": old.run_id, "status": "pending", "attempts": [], "redeliveryOf": old.id,
        "createdAt": again.body["createdAt"], "nextAttemptAt": again.body["createdAt"],
    });
    assert_eq!(again.body, wanted);
    let page = service.client.get(&format!("{path}/deliveries")).await.body;
    assert_eq!(ids(&page), [id(&again.body), old.id.to_string()]);
    let store = service.service.cloud.store().unwrap();
    let new = awo_domain::DeliveryId::parse(&id(&again.body)).unwrap();
    let webhook = webhook_id(&body["webhook"]);
    let stored = store
        .delivery(&service.org, &webhook, &new)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.body, old.body);

    let pending = redeliver(&service, &path, new.as_str(), None).await;
    fails(&pending, 409, "CONFLICT");
    assert!(pending.text.contains("pending"), "{}", pending.text);
    for unknown in [NOBODYS, "dlv_x"] {
        let missing = redeliver(&service, &path, unknown, None).await;
        fails(&missing, 404, "NOT_FOUND");
    }
    let (_, other) = made(&service.client).await;
    let elsewhere = redeliver(&service, &other, old.id.as_str(), None).await;
    fails(&elsewhere, 404, "NOT_FOUND");
    patch(&service.client, &path, &json!({ "enabled": false })).await;
    let disabled = redeliver(&service, &path, old.id.as_str(), None).await;
    fails(&disabled, 409, "CONFLICT");
    assert!(disabled.text.contains("disabled"), "{}", disabled.text);
}

#[tokio::test]
async fn a_repeated_redelivery_is_answered_as_the_first_whatever_has_become_of_the_webhook() {
    let service = quiet_service().await;
    let (body, path) = made(&service.client).await;
    let old = delivery(&service, &body["webhook"], DeliveryStatus::Delivered).await;
    let first = redeliver(&service, &path, old.id.as_str(), Some("k")).await;
    assert_eq!(first.status, 200, "{}", first.text);
    let replays = async || {
        let again = redeliver(&service, &path, old.id.as_str(), Some("k")).await;
        assert_eq!((again.status, &again.text), (200, &first.text));
        assert_eq!(again.header("idempotent-replayed"), "true");
    };
    replays().await;
    let page = service.client.get(&format!("{path}/deliveries")).await.body;
    assert_eq!(page["total"], 2, "{page}");
    patch(&service.client, &path, &json!({ "enabled": false })).await;
    replays().await;
    delete(&service.client, &path).await;
    replays().await;
    let at = format!("{path}/deliveries/{}/redeliver", old.id);
    let headers = [super::JSON, ("idempotency-key", "k")];
    let mismatch = service.client.send("POST", &at, &headers, b"{}".to_vec());
    fails(&mismatch.await, 422, "IDEMPOTENCY_MISMATCH");
    let fresh = redeliver(&service, &path, old.id.as_str(), Some("fresh")).await;
    fails(&fresh, 404, "WEBHOOK_NOT_FOUND");
}
