//! What clients send of budgets, and how many there can be.

use std::collections::BTreeSet;

use awo_tests::client::Answer;
use serde_json::json;

use super::{accepted, asks, create_budget, holds, limited};
use crate::http_api::quiet_service;

#[tokio::test]
async fn a_budget_that_is_not_as_it_must_be_is_400_with_every_fault() {
    let service = quiet_service().await;
    let paths = |answer: &Answer| -> BTreeSet<String> {
        assert_eq!(answer.status, 400, "{}", answer.text);
        let errors = answer.body["error"]["details"]["errors"]
            .as_array()
            .unwrap()
            .clone();
        errors
            .iter()
            .map(|e| e["path"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = |of: &[&str]| {
        of.iter()
            .map(|path| (*path).to_owned())
            .collect::<BTreeSet<_>>()
    };
    let nothing = service.client.post("/v1/budgets", &json!({})).await;
    assert_eq!(
        paths(&nothing),
        all(&["/name", "/period", "/limitCredits", "/onLimit"])
    );
    let wrong = json!({
        "name": "", "period": "week", "limitCredits": 0, "onLimit": "stop", "alertsAt": [0],
        "scope": { "tenantUserId": "u" }, "colour": "red",
    });
    let wrong = service.client.post("/v1/budgets", &wrong).await;
    let wanted = [
        "/name",
        "/period",
        "/limitCredits",
        "/onLimit",
        "/alertsAt/0",
        "/scope/tenantId",
        "/colour",
    ];
    assert_eq!(paths(&wrong), all(&wanted));
    for (field, value) in [
        ("alertsAt", json!([50, 50])),
        ("alertsAt", json!([1, 2, 3, 4, 5, 6])),
        ("scope", json!({ "tenantId": "a", "keyId": "k" })),
    ] {
        let mut body = limited("block", 1.0);
        body[field] = value;
        let path = format!("/{field}");
        assert_eq!(
            paths(&service.client.post("/v1/budgets", &body).await),
            all(&[&path])
        );
    }
}

#[tokio::test]
async fn an_organization_has_fifty_budgets_at_most_and_a_repeated_create_makes_one() {
    let service = quiet_service().await;
    let json = [
        ("content-type", "application/json"),
        ("idempotency-key", "k"),
    ];
    let body = limited("alert", 1.0).to_string().into_bytes();
    let first = service
        .client
        .send("POST", "/v1/budgets", &json, body.clone())
        .await;
    assert_eq!(first.status, 201, "{}", first.text);
    for _ in 1..50 {
        create_budget(&service, &limited("alert", 1.0)).await;
    }
    let again = service
        .client
        .send("POST", "/v1/budgets", &json, body)
        .await;
    assert_eq!((again.status, &again.text), (201, &first.text));
    let other = limited("alert", 2.0).to_string().into_bytes();
    let other = service.client.send("POST", "/v1/budgets", &json, other);
    assert_eq!(other.await.status, 422);
    let full = service
        .client
        .post("/v1/budgets", &limited("alert", 1.0))
        .await;
    assert_eq!(full.status, 409, "{}", full.text);
    // All fifty count in one transaction.
    accepted(&service, &asks(3.0)).await;
    let page = service.client.get("/v1/budgets?limit=100").await.body;
    let budgets = page["budgets"].as_array().unwrap();
    assert!(
        budgets.iter().all(|of| of["reservedCredits"] == 3.0),
        "{page}"
    );
    holds(&service).await;
}
