//! The API as a client sees it, on the whole service.

use awo_domain::api_key::Scope;
use awo_tests::service::TestService;
use serde_json::{Value, json};

pub fn order() -> Value {
    json!({ "taskPrompt": "fix it", "workspaceSource": { "type": "git", "repository": "https://git.invalid/a.git" } })
}

/// A service on which nothing is ever dispatched, so that what is queued stays so, nor delivered
/// twice.
pub async fn quiet_service() -> TestService {
    quiet_service_with(&[]).await
}

/// The same, with these settings besides.
pub async fn quiet_service_with(besides: &[(&str, &str)]) -> TestService {
    let hours = ["36000000"; 4].join(",");
    let quiet = [
        ("AWO_MAX_CONCURRENT", "0"),
        ("AWO_MAX_QUEUE_SIZE", "200"),
        ("AWO_WEBHOOK_RETRY_DELAYS_MS", &hours),
    ];
    TestService::unswept(1_000_000, &[&quiet, besides].concat()).await
}

#[tokio::test]
async fn a_work_order_is_created_read_and_listed() {
    let service = quiet_service().await;
    let mut body = order();
    body["tenantContext"] = json!({ "tenantId": "acme", "tenantUserId": "u1" });
    body["limits"] = json!({ "maxCredits": 12.5, "maxDurationMs": 60000 });
    body["metadata"] = json!({ "ticket": "A-1" });
    body["agent"] = json!({ "type": "command", "command": ["make", "fix"] });
    let made = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let (id, run) = (
        made.body["id"].as_str().unwrap(),
        made.body["runId"].as_str().unwrap(),
    );
    assert!(id.starts_with("wo_") && run.starts_with("run_") && id.len() == 29);
    for field in ["taskPrompt", "tenantContext", "limits", "metadata", "agent"] {
        assert_eq!(made.body[field], body[field], "{field}");
    }
    assert_eq!(made.body["status"], "queued");
    assert_eq!(made.body["workspaceSource"], body["workspaceSource"]);
    assert_eq!(made.body["harness"], "default");

    let read = service.client.get(&format!("/v1/work-orders/{id}")).await;
    assert_eq!((read.status, &read.body), (200, &made.body));
    let listed = service
        .client
        .get("/v1/work-orders?status=queued&tenantId=acme")
        .await;
    assert_eq!(listed.body["workOrders"][0], made.body);
    assert_eq!(
        (
            &listed.body["total"],
            &listed.body["limit"],
            &listed.body["offset"]
        ),
        (&json!(1), &json!(20), &json!(0))
    );

    let run_read = service.client.get(&format!("/v1/runs/{run}")).await;
    assert_eq!(
        (&run_read.body["status"], &run_read.body["workOrderId"]),
        (&json!("queued"), &json!(id))
    );
    for query in [
        "",
        "?status=queued",
        &format!("?workOrderId={id}"),
        "?tenantId=acme",
    ] {
        let runs = service.client.get(&format!("/v1/runs{query}")).await;
        assert_eq!(runs.body["runs"], json!([run_read.body]), "{query}");
        assert_eq!(runs.body["total"], 1, "{query}");
    }
    let events = service.client.get(&format!("/v1/runs/{run}/events")).await;
    assert_eq!(events.body["events"][0]["type"], "run.created");
    assert_eq!(
        events.body["events"][0]["data"]["tenantContext"],
        body["tenantContext"]
    );
    assert_eq!(
        (&events.body["lastSequence"], &events.body["hasMore"]),
        (&json!(1), &json!(false))
    );

    let credits = service.client.get("/v1/credits").await;
    assert_eq!(
        (
            &credits.body["balance"],
            &credits.body["reserved"],
            &credits.body["available"]
        ),
        (&json!(1_000_000), &json!(12.5), &json!(999_987.5))
    );
}

#[tokio::test]
async fn every_kind_of_bad_key_gets_the_same_401() {
    let service = quiet_service().await;
    let revoked = service.key(&[Scope::All], None).await;
    let cloud = &service.service.cloud;
    let store = cloud.store().unwrap();
    let keys = store.list_keys(&service.org).await.unwrap();
    store
        .revoke_key(&keys.last().unwrap().key_id, cloud.clock.now())
        .await
        .unwrap();
    let unknown = cloud.mint.api_key();
    let plain = service.client.with_key(None);
    let mut bodies = Vec::new();
    for client in [
        plain.clone(),
        plain.with_key(Some("nonsense")),
        plain.with_key(Some("org_live_0000000000000000000000000000000000000000")),
        plain.with_key(Some(unknown.reveal())),
        revoked,
    ] {
        let answer = client.get("/v1/credits").await;
        assert_eq!(answer.status, 401, "{}", answer.text);
        assert_eq!(answer.header("x-amzn-remapped-www-authenticate"), "Bearer");
        assert!(answer.header("x-ratelimit-limit").is_empty());
        bodies.push(answer.text);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
}

#[tokio::test]
async fn checks_come_in_order_401_404_403_429_and_then_the_body() {
    let service = quiet_service().await;
    let reader = service.key(&[Scope::WorkOrdersRead], Some(4)).await;
    assert_eq!(
        service
            .client
            .with_key(None)
            .get("/v1/nothing")
            .await
            .status,
        401
    );
    let missing = reader.get("/v1/nothing").await;
    assert_eq!(
        (missing.status, missing.body["error"]["code"].as_str()),
        (404, Some("NOT_FOUND"))
    );
    assert_eq!(missing.header("x-ratelimit-limit"), "4");
    assert_eq!(missing.header("x-ratelimit-remaining"), "3");
    let wrong_method = reader.send("PUT", "/v1/work-orders", &[], Vec::new()).await;
    assert_eq!(
        (wrong_method.status, wrong_method.header("allow")),
        (405, "POST, GET, HEAD, OPTIONS")
    );
    let forbidden = reader
        .send("POST", "/v1/work-orders", &[], b"not json".to_vec())
        .await;
    assert_eq!(
        (forbidden.status, forbidden.body["error"]["code"].as_str()),
        (403, Some("FORBIDDEN"))
    );
    assert_eq!(reader.get("/v1/work-orders?limit=0").await.status, 400);
    let limited = reader.get("/v1/work-orders?limit=0").await;
    assert_eq!(
        (limited.status, limited.body["error"]["code"].as_str()),
        (429, Some("RATE_LIMITED"))
    );
    let wait: u64 = limited.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait));
    assert!(limited.header("x-ratelimit-reset").parse::<u64>().unwrap() > 1_700_000_000);
    let enveloped = service.client.get("/api/v1/nothing").await;
    assert_eq!(enveloped.status, 404);
    assert_eq!(enveloped.body["success"], json!(false));
    assert_eq!(
        enveloped.body["requestId"],
        json!(enveloped.header("x-request-id"))
    );
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
async fn all_faults_of_a_body_are_reported_at_once_and_nothing_changes() {
    let service = quiet_service().await;
    let bad = json!({
        "workspaceSource": { "type": "svn", "repository": "http://x/y", "extra": 1 },
        "maxIterations": 101, "tenantContext": { "tenantUserId": "u" }, "agent": { "type": "x" }, "unknown": true,
        "limits": { "maxCredits": -1 }, "metadata": { "k": 5 }, "harness": "nobody",
    });
    let answer = service.client.post("/v1/work-orders", &bad).await;
    assert_eq!(
        (answer.status, answer.body["error"]["code"].as_str()),
        (400, Some("BAD_REQUEST"))
    );
    let wanted = [
        "/agent/type",
        "/harness",
        "/limits/maxCredits",
        "/maxIterations",
        "/metadata/k",
        "/taskPrompt",
        "/tenantContext/tenantId",
        "/unknown",
        "/workspaceSource/extra",
        "/workspaceSource/repository",
        "/workspaceSource/type",
    ];
    assert_eq!(answer.fault_paths(), wanted);
    let json_type = [("content-type", "application/json")];
    let long = format!("{{\"taskPrompt\": \"{}\"}}", "x".repeat(300_000)).into_bytes();
    type Case<'a> = (&'a [(&'a str, &'a str)], Vec<u8>, u16, &'a str);
    let cases: [Case<'_>; 7] = [
        (
            &[("content-type", "text/plain")],
            b"{}".to_vec(),
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        (&json_type, long, 413, "PAYLOAD_TOO_LARGE"),
        (&json_type, b"[]".to_vec(), 400, "BAD_REQUEST"),
        (
            &json_type,
            b"{\"taskPrompt\":\"a\",\"taskPrompt\":\"b\"}".to_vec(),
            400,
            "BAD_REQUEST",
        ),
        (
            &json_type,
            b"{\"taskPrompt\":\"\xff\"}".to_vec(),
            400,
            "BAD_REQUEST",
        ),
        (
            &json_type,
            [b"[".repeat(5_000)].concat(),
            400,
            "BAD_REQUEST",
        ),
        (&json_type, Vec::new(), 400, "BAD_REQUEST"),
    ];
    for (headers, body, status, code) in cases {
        let answer = service
            .client
            .send("POST", "/v1/work-orders", headers, body)
            .await;
        assert_eq!(
            (answer.status, answer.body["error"]["code"].as_str()),
            (status, Some(code)),
            "{}",
            answer.text
        );
        assert!(answer.body["error"]["details"].is_object());
    }
    let credits = service.client.get("/v1/credits").await;
    assert_eq!(credits.body["reserved"], 0);
    assert_eq!(service.client.get("/v1/work-orders").await.body["total"], 0);
}

#[tokio::test]
async fn another_organizations_things_do_not_exist() {
    let service = quiet_service().await;
    let (_, stranger) = service.another_org(10).await;
    let made = service.client.post("/v1/work-orders", &order()).await.body;
    let (id, run) = (
        made["id"].as_str().unwrap(),
        made["runId"].as_str().unwrap(),
    );
    for (path, code) in [
        (format!("/v1/work-orders/{id}"), "WORK_ORDER_NOT_FOUND"),
        (format!("/v1/runs/{run}"), "RUN_NOT_FOUND"),
        (format!("/v1/runs/{run}/events"), "RUN_NOT_FOUND"),
        (
            "/v1/work-orders/nonsense".to_owned(),
            "WORK_ORDER_NOT_FOUND",
        ),
    ] {
        let answer = stranger.get(&path).await;
        assert_eq!(
            (answer.status, answer.body["error"]["code"].as_str()),
            (404, Some(code)),
            "{path}"
        );
    }
    assert_eq!(
        stranger
            .get(&format!("/v1/runs?workOrderId={id}"))
            .await
            .body["total"],
        0
    );
    assert_eq!(stranger.get("/v1/work-orders").await.body["total"], 0);
    assert_eq!(stranger.get("/v1/credits/usage").await.body["total"], 1);
}
