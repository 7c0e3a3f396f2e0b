//! Threads: follow-ups, one turn at a time.

use awo_tests::client::Answer;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service, quiet_service_with};

async fn create(service: &TestService, body: &Value) -> Value {
    let made = service.client.post("/v1/work-orders", body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

async fn follow_up(service: &TestService, of: &Value, body: &Value) -> Answer {
    let id = of["id"].as_str().unwrap();
    let path = format!("/v1/work-orders/{id}/follow-ups");
    service.client.post(&path, body).await
}

async fn next_turn(service: &TestService, of: &Value) -> Value {
    let made = follow_up(
        service,
        of,
        &json!({ "taskPrompt": "and now the other one" }),
    )
    .await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

async fn position(service: &TestService, order: &Value) -> Value {
    let id = order["id"].as_str().unwrap();
    let path = format!("/api/v1/queue/position/{id}");
    service.client.get(&path).await.body["data"].clone()
}

#[tokio::test]
async fn a_follow_up_is_the_next_turn_and_continues_the_newest() {
    let service = quiet_service().await;
    let first = create(&service, &order()).await;
    assert_eq!(first["threadId"], first["id"]);
    assert_eq!(first["turn"], 1);
    assert_eq!(first.get("continues"), None);
    let second = next_turn(&service, &first).await;
    // Of any turn: the new one follows the newest.
    let third = next_turn(&service, &first).await;
    for (turn, number, before) in [(&second, 2, &first), (&third, 3, &second)] {
        assert_eq!(turn["threadId"], first["id"]);
        assert_eq!(turn["turn"], number);
        assert_eq!(turn["continues"], before["id"]);
        for inherited in [
            "workspaceSource",
            "agent",
            "harness",
            "tenantContext",
            "metadata",
        ] {
            assert_eq!(turn.get(inherited), first.get(inherited), "{inherited}");
        }
    }
    let id = first["id"].as_str().unwrap();
    let thread = service.client.get(&format!("/v1/threads/{id}")).await;
    assert_eq!(thread.status, 200, "{}", thread.text);
    let turns: Vec<&Value> = thread.body["turns"].as_array().unwrap().iter().collect();
    let ids: Vec<&Value> = turns.iter().map(|turn| &turn["workOrderId"]).collect();
    assert_eq!(ids, [&first["id"], &second["id"], &third["id"]]);
    let listed = service
        .client
        .get(&format!("/v1/work-orders?threadId={id}"))
        .await;
    let listed = listed.body["workOrders"].as_array().unwrap().clone();
    let ids: Vec<&Value> = listed.iter().map(|order| &order["id"]).collect();
    assert_eq!(ids, [&third["id"], &second["id"], &first["id"]]);
}

#[tokio::test]
async fn what_a_thread_fixes_cannot_be_named_by_a_follow_up() {
    let service = quiet_service().await;
    let first = create(&service, &order()).await;
    let fixed = [
        ("workspaceSource", order()["workspaceSource"].clone()),
        ("tenantContext", json!({ "tenantId": "other" })),
        ("parentId", first["id"].clone()),
        ("resultBranch", json!("main")),
        ("branch", json!("main")),
    ];
    for (name, value) in fixed {
        let mut body = json!({ "taskPrompt": "more" });
        body[name] = value;
        let refused = follow_up(&service, &first, &body).await;
        assert_eq!(refused.status, 400, "{name}: {}", refused.text);
        assert!(refused.text.contains(name), "{name}: {}", refused.text);
    }
}

#[tokio::test]
async fn a_turn_waits_for_its_thread_and_keeps_nobody_else_waiting() {
    let service = quiet_service().await;
    let first = create(&service, &order()).await;
    let second = next_turn(&service, &first).await;
    let other = create(&service, &order()).await;
    assert_eq!(position(&service, &first).await.get("waitsFor"), None);
    let place = position(&service, &second).await;
    assert_eq!(place["waitsFor"], "thread");
    assert_eq!(place.get("estimatedStartTime"), None);
    assert_eq!(position(&service, &other).await.get("waitsFor"), None);
    let id = first["id"].as_str().unwrap();
    let path = format!("/api/v1/work-orders/{id}");
    let canceled = service.client.send("DELETE", &path, &[], Vec::new());
    let canceled = canceled.await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    assert_eq!(position(&service, &second).await.get("waitsFor"), None);
}

#[tokio::test]
async fn a_thread_refuses_an_eleventh_open_turn_and_a_child_has_none() {
    let service = quiet_service().await;
    let first = create(&service, &order()).await;
    for _ in 0..9 {
        next_turn(&service, &first).await;
    }
    let full = follow_up(&service, &first, &json!({ "taskPrompt": "more" })).await;
    assert_eq!(full.status, 409, "{}", full.text);
    assert_eq!(full.body["error"]["details"]["reason"], "waiting_full");
    let mut body = order();
    body["parentId"] = first["id"].clone();
    let child = create(&service, &body).await;
    let refused = follow_up(&service, &child, &json!({ "taskPrompt": "more" })).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    assert_eq!(refused.body["error"]["details"]["reason"], "child");
}

#[tokio::test]
async fn a_follow_up_is_refused_as_a_create_is() {
    let service = quiet_service_with(&[("AWO_MAX_QUEUE_SIZE", "2")]).await;
    let made = service
        .client
        .post("/v1/environments", &json!({ "name": "node" }))
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    let first = create(&service, &order()).await;
    let dear = json!({ "taskPrompt": "more", "limits": { "maxCredits": 2_000_000 } });
    let refused = follow_up(&service, &first, &dear).await;
    assert_eq!(refused.status, 402, "{}", refused.text);
    let path = format!(
        "/v1/work-orders/{}/follow-ups",
        first["id"].as_str().unwrap()
    );
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", "k"),
    ];
    for (prompt, status) in [("more", 201), ("more", 201), ("other", 422)] {
        let body = json!({ "taskPrompt": prompt, "environment": "node" });
        let body = body.to_string().into_bytes();
        let answer = service.client.send("POST", &path, &headers, body).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    let full = follow_up(&service, &first, &json!({ "taskPrompt": "more" })).await;
    assert_eq!(full.status, 503, "{}", full.text);
    assert_eq!(full.body["error"]["code"], "QUEUE_FULL");
}
