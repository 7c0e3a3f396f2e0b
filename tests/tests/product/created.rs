//! What a 201 says of what it created.

use std::collections::BTreeSet;

use awo_tests::contract::DOCUMENT;
use serde_json::json;

use crate::http_api::{order, quiet_service};

#[tokio::test]
async fn a_created_resource_is_found_where_location_says() {
    let service = quiet_service().await;
    let client = &service.client;
    let inbox = json!({ "name": "of the trigger", "kind": "github" });
    let inbox = client.post("/v1/inboxes", &inbox).await.body["inbox"]["id"].clone();
    let bodies = [
        ("/v1/work-orders", order()),
        (
            "/v1/templates",
            json!({ "id": "made", "name": "Made", "source": { "type": "git", "repository": "https://git.example.com/a.git" } }),
        ),
        (
            "/v1/webhooks",
            json!({ "url": "https://hooks.example.com/", "events": ["run.failed"] }),
        ),
        ("/api/v1/profiles", json!({ "name": "made" })),
        ("/v1/environments", json!({ "name": "made" })),
        (
            "/v1/budgets",
            json!({ "name": "made", "scope": {}, "period": "month", "limitCredits": 100_000, "onLimit": "alert" }),
        ),
        ("/v1/inboxes", json!({ "name": "made", "kind": "github" })),
        (
            "/v1/triggers",
            json!({
                "name": "made", "inboxId": inbox, "events": ["push"], "action": "create",
                "repositories": ["github.com/acme/*"], "workOrder": { "taskPrompt": "go on" },
            }),
        ),
        (
            "/v1/schedules",
            json!({ "name": "made", "cron": "30 2 * * *", "workOrder": order() }),
        ),
        (
            "/api/v1/verification/plugins",
            json!({ "id": "custom:made", "command": ["true"] }),
        ),
    ];
    let tried: BTreeSet<&str> = bodies.iter().map(|(path, _)| *path).collect();
    let mut creating = paths_of_created();
    for of_another in [
        "/api/v1/work-orders/{id}/runs",
        "/v1/schedules/{id}/fire",
        "/v1/work-orders/{id}/follow-ups",
    ] {
        assert!(creating.remove(of_another), "{of_another}");
    }
    assert_eq!(creating, tried);
    for (path, body) in bodies {
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", "k"),
        ];
        let send = || client.send("POST", path, &headers, body.to_string().into_bytes());
        let (made, again) = (send().await, send().await);
        assert_eq!(made.status, 201, "{path}: {}", made.text);
        let location = made.header("location");
        assert!(location.starts_with(path), "{path}: {location}");
        let found = client.get(location).await;
        assert_eq!(found.status, 200, "{location}: {}", found.text);
        assert_eq!(again.header("idempotent-replayed"), "true", "{path}");
        assert_eq!(again.header("location"), location, "{path}");
    }
    // A run is found elsewhere than below its work order.
    let orders = client.get("/v1/work-orders").await;
    let id = orders.body["workOrders"][0]["id"].as_str().unwrap();
    let path = format!("/api/v1/work-orders/{id}/runs");
    let started = client.send("POST", &path, &[], Vec::new()).await;
    assert_eq!(started.status, 201, "{}", started.text);
    let run = client.get(started.header("location")).await;
    assert_eq!(run.body["runId"], started.body["data"]["runId"]);
}

#[tokio::test]
async fn what_another_resource_has_created_is_found_below_its_own_kind() {
    let service = quiet_service().await;
    let client = &service.client;
    let first = client.post("/v1/work-orders", &order()).await;
    let id = first.body["id"].as_str().unwrap();
    let body = json!({ "name": "made", "cron": "30 2 * * *", "workOrder": order() });
    let schedule = client.post("/v1/schedules", &body).await;
    let schedule = schedule.body["id"].as_str().unwrap();
    let next = json!({ "taskPrompt": "go on" });
    for made in [
        client
            .post(&format!("/v1/schedules/{schedule}/fire"), &json!({}))
            .await,
        client
            .post(&format!("/v1/work-orders/{id}/follow-ups"), &next)
            .await,
    ] {
        assert_eq!(made.status, 201, "{}", made.text);
        let found = client.get(made.header("location")).await;
        let work_order = made.body.get("workOrderId").unwrap_or(&made.body["id"]);
        assert_eq!(&found.body["id"], work_order, "{}", found.text);
    }
}

/// The paths whose POST the document answers with 201.
fn paths_of_created() -> BTreeSet<&'static str> {
    let paths = DOCUMENT["paths"].as_object().unwrap().iter();
    let creates = paths.filter(|(_, item)| item["post"]["responses"].get("201").is_some());
    creates.map(|(path, _)| path.as_str()).collect()
}

#[tokio::test]
async fn null_is_no_body_where_a_body_may_be_left_out_but_for_a_purge() {
    let service = quiet_service().await;
    let client = &service.client;
    let made = client.post("/v1/work-orders", &order()).await;
    let json = [("content-type", "application/json")];
    let id = made.body["id"].as_str().unwrap();
    let null = async |path: &str| client.send("POST", path, &json, b" null\n".to_vec()).await;
    let purge = null("/api/v1/work-orders/purge").await;
    assert_eq!(purge.status, 400, "{}", purge.text);
    let stored = client.get(&format!("/v1/work-orders/{id}")).await;
    assert_eq!(stored.status, 200, "nothing was purged");
    let killed = null(&format!("/api/v1/work-orders/{id}/kill")).await;
    assert_eq!(
        (killed.status, &killed.body["data"]["success"]),
        (200, &json!(true)),
        "{}",
        killed.text
    );
    let run = made.body["runId"].as_str().unwrap();
    let again = null(&format!("/v1/runs/{run}/cancel")).await;
    assert_eq!(again.status, 409, "it is over: {}", again.text);
    // Of no other type: what is not declared as JSON is refused as ever.
    let plain = [("content-type", "text/plain")];
    let path = format!("/api/v1/work-orders/{id}/kill");
    let plain = client.send("POST", &path, &plain, b"null".to_vec()).await;
    assert_eq!(plain.status, 415, "{}", plain.text);
}
