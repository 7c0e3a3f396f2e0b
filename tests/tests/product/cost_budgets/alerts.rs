//! What an organization is alerted of.

use awo_domain::money::MicroCredits;
use awo_tests::service::TestService;
use futures::future::join_all;
use serde_json::{Value, json};

use super::{accepted, asks, cancel, create_budget, dispatch, limited};
use crate::http_api::quiet_service;

/// The events of a type that a webhook was to get, oldest first.
async fn delivered(service: &TestService, webhook: &str, kind: &str) -> Vec<Value> {
    let path = format!("/v1/webhooks/{webhook}/deliveries?limit=100");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let outbox = service
            .service
            .cloud
            .store()
            .unwrap()
            .outbox(&service.org, 10)
            .await
            .unwrap();
        if outbox.items.is_empty() {
            break;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "the outbox is not emptied"
        );
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let listed = service.client.get(&path).await.body;
    let mut all = listed["deliveries"].as_array().unwrap().clone();
    all.retain(|of| of["eventType"] == kind);
    all.reverse();
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_percentage_of_a_period_and_each_fall_of_the_balance_makes_one_event() {
    let service = quiet_service().await;
    let webhook = json!({ "url": "https://hooks.example.com", "events": ["budget.threshold", "credits.low"] });
    let webhook = service.client.post("/v1/webhooks", &webhook).await.body;
    let webhook = webhook["webhook"]["id"].as_str().unwrap();
    let store = service.service.cloud.store().unwrap();
    let threshold = MicroCredits::from_credits(999_995);
    store
        .set_credits_low(&service.org, threshold)
        .await
        .unwrap();
    let mut body = limited("alert", 10.0);
    body["alertsAt"] = json!([50, 100]);
    create_budget(&service, &body).await;
    accepted(&service, &asks(4.0)).await;
    dispatch(&service).await;
    assert!(
        delivered(&service, webhook, "budget.threshold")
            .await
            .is_empty()
    );
    let second = accepted(&service, &asks(8.0)).await;
    let rivals = (0..4).map(|_| dispatch(&service));
    join_all(rivals).await;
    assert_eq!(
        delivered(&service, webhook, "budget.threshold").await.len(),
        2
    );
    assert_eq!(delivered(&service, webhook, "credits.low").await.len(), 1);
    cancel(&service, &second).await;
    dispatch(&service).await;
    accepted(&service, &asks(8.0)).await;
    dispatch(&service).await;
    assert_eq!(
        delivered(&service, webhook, "budget.threshold").await.len(),
        2,
        "once a period"
    );
    assert_eq!(
        delivered(&service, webhook, "credits.low").await.len(),
        2,
        "another fall"
    );
}
