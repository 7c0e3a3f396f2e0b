//! The bodies of schedules, their limits, and what an answer shows.

use awo_tests::service::TestService;
use serde_json::{Value, json};

use super::{created, fire, fires_next, half_hourly, orders, path_of, read};
use crate::http_api::{order, quiet_service};

#[tokio::test]
async fn a_schedule_is_created_read_replaced_and_deleted() {
    let service = quiet_service().await;
    let mut body = half_hourly();
    body["timezone"] = json!("Europe/Berlin");
    let schedule = created(&service, &body).await;
    let usual = json!({
        "overlap": "skip", "catchUp": "latest", "pauseAfterFailures": 3, "enabled": true,
        "consecutiveFailures": 0, "workOrder": order(), "timezone": "Europe/Berlin",
    });
    for (name, value) in usual.as_object().unwrap() {
        assert_eq!(&schedule[name], value, "{name}");
    }
    assert_eq!(schedule["next"].as_array().unwrap().len(), 5);
    assert_eq!(read(&service, &schedule).await, schedule);
    body["cron"] = json!("0 4 1 * *");
    body["endsAt"] = json!("2035-01-01T00:00:00Z");
    let json = [("content-type", "application/json")];
    let path = path_of(&schedule);
    let put = service
        .client
        .send("PUT", &path, &json, body.to_string().into_bytes())
        .await;
    assert_eq!(put.status, 200, "{}", put.text);
    assert_eq!(put.body["endsAt"], "2035-01-01T00:00:00.000Z");
    assert!(put.body["updatedAt"].is_string());
    let listed = service.client.get("/v1/schedules").await.body;
    assert_eq!(listed["schedules"], json!([put.body]));
    let deleted = service.client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(deleted.status, 204, "{}", deleted.text);
    let missing = service.client.get(&path).await;
    assert_eq!(missing.body["error"]["code"], "SCHEDULE_NOT_FOUND");
}

#[tokio::test]
async fn every_fault_of_a_schedule_and_its_work_order_is_named_at_once() {
    let service = quiet_service().await;
    let body = json!({
        "name": "", "cron": "@daily", "timezone": "Europe/Atlantis", "overlap": "never",
        "pauseAfterFailures": 21, "startsAt": "2030-01-02T00:00:00Z", "endsAt": "2030-01-01T00:00:00Z",
        "catchup": "none",
        "workOrder": {
            "taskPrompt": "", "workspaceSource": { "type": "git", "repository": "ftp://a" },
            "harness": "nobody", "environment": "nowhere", "parentId": "wo_1", "colour": "red",
        },
    });
    let refused = service.client.post("/v1/schedules", &body).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    let expected = [
        "/catchup",
        "/cron",
        "/endsAt",
        "/name",
        "/overlap",
        "/pauseAfterFailures",
        "/timezone",
        "/workOrder/colour",
        "/workOrder/environment",
        "/workOrder/harness",
        "/workOrder/parentId",
        "/workOrder/taskPrompt",
        "/workOrder/workspaceSource/repository",
    ];
    assert_eq!(refused.fault_paths(), expected, "{}", refused.text);
    for cron in ["0 0 30 2 *", "*/4 * * * *", "0 0 L * *", "0 0 * * * *"] {
        let mut body = half_hourly();
        body["cron"] = json!(cron);
        let refused = service.client.post("/v1/schedules", &body).await;
        assert_eq!(refused.fault_paths(), ["/cron"], "{cron}: {}", refused.text);
    }
    let mut body = half_hourly();
    body["workOrder"]["taskPrompt"] = json!("é".repeat(30_000));
    let refused = service.client.post("/v1/schedules", &body).await;
    assert_eq!(refused.fault_paths(), ["/workOrder"], "{}", refused.text);
    let mut body = half_hourly();
    body["workOrder"] = json!("fix it");
    let refused = service.client.post("/v1/schedules", &body).await;
    assert_eq!(refused.fault_paths(), ["/workOrder"], "{}", refused.text);
}

#[tokio::test]
async fn an_organization_has_a_hundred_schedules_and_a_repeated_create_makes_one() {
    let service = quiet_service().await;
    let json = [
        ("content-type", "application/json"),
        ("idempotency-key", "once"),
    ];
    let body = half_hourly().to_string().into_bytes();
    let first = service
        .client
        .send("POST", "/v1/schedules", &json, body.clone())
        .await;
    let again = service
        .client
        .send("POST", "/v1/schedules", &json, body)
        .await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    for _ in 1..100 {
        created(&service, &half_hourly()).await;
    }
    let one_more = service.client.post("/v1/schedules", &half_hourly()).await;
    assert_eq!(one_more.status, 409, "{}", one_more.text);
    let listed = service.client.get("/v1/schedules?limit=1").await.body;
    assert_eq!(listed["total"], 100);
}

/// Creates what a work order can name.
pub async fn with_named_resources(service: &TestService) -> Value {
    let template = json!({
        "id": "ours", "name": "Ours",
        "source": { "type": "git", "repository": "https://git.invalid/a.git" },
    });
    for (path, body) in [
        ("/v1/templates", template),
        ("/api/v1/profiles", json!({ "name": "careful" })),
        ("/v1/environments", json!({ "name": "node" })),
    ] {
        let made = service.client.post(path, &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
    }
    json!({
        "taskPrompt": "fix it", "harness": "careful", "environment": "node",
        "workspaceSource": { "type": "template", "templateId": "ours" },
    })
}

#[tokio::test]
async fn a_schedules_work_order_may_name_a_template_a_profile_and_an_environment() {
    let service = quiet_service().await;
    let mut body = half_hourly();
    body["workOrder"] = with_named_resources(&service).await;
    let schedule = created(&service, &body).await;
    let headers = [("content-type", "application/json")];
    let put = body.to_string().into_bytes();
    let path = path_of(&schedule);
    let updated = service.client.send("PUT", &path, &headers, put).await;
    assert_eq!(updated.status, 200, "{}", updated.text);
    let fired = fire(&service, &schedule).await;
    assert_eq!(fired.status, 201, "{}", fired.text);
    body["overlap"] = json!("queue");
    let other = created(&service, &body).await;
    let firing = fires_next(&service, &other).await;
    assert_eq!(firing["result"], "created", "{firing}");
    for order in [
        orders(&service, &schedule).await.remove(0),
        orders(&service, &other).await.remove(0),
    ] {
        assert_eq!(
            (&order["harness"], &order["environment"]),
            (&json!("careful"), &json!("node")),
            "{order}"
        );
    }
}

#[tokio::test]
async fn a_key_of_another_request_is_422() {
    let service = quiet_service().await;
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", "k"),
    ];
    let mut statuses = Vec::new();
    for name in ["first", "first", "second"] {
        let mut body = half_hourly();
        body["name"] = json!(name);
        let body = body.to_string().into_bytes();
        let client = &service.client;
        let answer = client.send("POST", "/v1/schedules", &headers, body).await;
        statuses.push(answer.status);
    }
    assert_eq!(statuses, [201, 201, 422]);
    let schedule = created(&service, &half_hourly()).await;
    let path = format!("{}/fire", path_of(&schedule));
    let mut statuses = Vec::new();
    for body in ["", "", "{}"] {
        let body = body.as_bytes().to_vec();
        let answer = service.client.send("POST", &path, &headers, body).await;
        statuses.push(answer.status);
    }
    assert_eq!(statuses, [201, 201, 422]);
    assert_eq!(orders(&service, &schedule).await.len(), 1);
}
