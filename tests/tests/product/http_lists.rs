//! Repeated creates, and lists of them: idempotency, refusals that write nothing, pages.

use awo_tests::client::{Answer, Client};
use awo_tests::driven::DrivenRun;
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};

async fn create_with_key(client: &Client, key: &str, body: &Value) -> Answer {
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", key),
    ];
    client
        .send(
            "POST",
            "/v1/work-orders",
            &headers,
            body.to_string().into_bytes(),
        )
        .await
}

#[tokio::test]
async fn one_idempotency_key_makes_one_work_order_and_identical_answers() {
    let service = quiet_service().await;
    let tries = (0..50).map(|_| {
        let client = service.client.clone();
        tokio::spawn(async move { create_with_key(&client, "same", &order()).await })
    });
    let mut answers = Vec::new();
    for each in tries.collect::<Vec<_>>() {
        answers.push(each.await.unwrap());
    }
    assert!(
        answers
            .iter()
            .all(|a| a.status == 201 && a.text == answers[0].text),
        "{answers:#?}"
    );
    let fresh = answers
        .iter()
        .filter(|a| a.header("idempotent-replayed").is_empty())
        .count();
    assert_eq!(fresh, 1, "all but the first are marked as replays");
    assert_eq!(service.client.get("/v1/work-orders").await.body["total"], 1);
    let mut other = order();
    other["taskPrompt"] = json!("something else");
    let mismatch = create_with_key(&service.client, "same", &other).await;
    assert_eq!(
        (mismatch.status, mismatch.body["error"]["code"].as_str()),
        (422, Some("IDEMPOTENCY_MISMATCH"))
    );
    assert_eq!(
        create_with_key(&service.client, "b\u{fc}d", &order())
            .await
            .status,
        400
    );
}

/// Many clients start a run at once, with one key; what they are answered, and how many of them
/// did not learn that it was done before.
async fn start_with_one_key(client: &Client, work_order: &str) -> (Answer, usize) {
    let path = format!("/api/v1/work-orders/{work_order}/runs");
    let tries = (0..100).map(|_| {
        let (client, path) = (client.clone(), path.clone());
        let headers = [("idempotency-key", "same")];
        tokio::spawn(async move { client.send("POST", &path, &headers, Vec::new()).await })
    });
    let mut answers = Vec::new();
    for each in tries.collect::<Vec<_>>() {
        answers.push(each.await.unwrap());
    }
    let first = answers[0].clone();
    for answer in &answers {
        assert_eq!((answer.status, &answer.text), (201, &first.text));
    }
    let is_fresh = |answer: &&Answer| answer.header("idempotent-replayed").is_empty();
    (first, answers.iter().filter(is_fresh).count())
}

#[tokio::test]
async fn one_idempotency_key_starts_one_run_that_waits_and_gets_identical_answers() {
    let service = quiet_service().await;
    let made = service.client.post("/v1/work-orders", &order()).await.body;
    DrivenRun::of(&service, &made).await.fail().await;
    let id = made["id"].as_str().unwrap();
    let (first, fresh) = start_with_one_key(&service.client, id).await;
    assert_eq!(fresh, 1, "all but the first are marked as replays");
    assert_eq!(first.body["data"]["status"], "queued");
    let runs = format!("/v1/runs?workOrderId={id}");
    let runs = service.client.get(&runs).await.body;
    assert_eq!(runs["total"], 2);
    assert_eq!(runs["runs"][0]["runId"], first.body["data"]["runId"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_idempotency_key_starts_one_run_on_a_free_slot_even_if_that_fails_meanwhile() {
    let service = TestService::start(1_000_000, &[]).await;
    let repository = Repository::with(&[("README.md", "small\n")]);
    let body = json!({
        "taskPrompt": "fail",
        "workspaceSource": { "type": "git", "repository": repository.url() },
        "agent": { "type": "command", "command": ["sh", "-c", "exit 3"] },
        "maxIterations": 1,
    });
    let made = service.client.post("/v1/work-orders", &body).await.body;
    let failed = service.client.finished_run(&made).await;
    assert_eq!(failed["status"], "failed", "{failed:#}");
    let id = made["id"].as_str().unwrap();
    let (first, fresh) = start_with_one_key(&service.client, id).await;
    assert_eq!(fresh, 1, "all but the first are marked as replays");
    assert_eq!(first.body["data"]["status"], "building");
    let again = service.client.finished_run(&first.body["data"]).await;
    assert_eq!(again["status"], "failed", "{again:#}");
    let (later, fresh) = start_with_one_key(&service.client, id).await;
    assert_eq!((later.text, fresh), (first.text, 0));
    let runs = format!("/v1/runs?workOrderId={id}");
    assert_eq!(service.client.get(&runs).await.body["total"], 2);
}

#[tokio::test]
async fn a_full_queue_and_an_empty_purse_refuse_and_write_nothing() {
    let service = TestService::start(
        25,
        &[("AWO_MAX_CONCURRENT", "0"), ("AWO_MAX_QUEUE_SIZE", "2")],
    )
    .await;
    let mut body = order();
    body["limits"] = json!({ "maxCredits": 10 });
    assert_eq!(
        service.client.post("/v1/work-orders", &body).await.status,
        201
    );
    body["limits"] = json!({ "maxCredits": 20 });
    let poor = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(
        (poor.status, poor.body["error"]["code"].as_str()),
        (402, Some("FORBIDDEN"))
    );
    body["limits"] = json!({ "maxCredits": 1 });
    assert_eq!(
        service.client.post("/v1/work-orders", &body).await.status,
        201
    );
    let full = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(
        (full.status, full.body["error"]["code"].as_str()),
        (503, Some("QUEUE_FULL"))
    );
    assert!(!full.header("retry-after").is_empty());
    assert_eq!(service.client.get("/v1/work-orders").await.body["total"], 2);
    assert_eq!(service.client.get("/v1/credits").await.body["reserved"], 11);
}

#[tokio::test]
async fn paging_visits_every_item_once_while_items_are_added() {
    let service = quiet_service().await;
    let mut made = Vec::new();
    for _ in 0..23 {
        made.push(
            service.client.post("/v1/work-orders", &order()).await.body["id"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    made.reverse();
    let mut seen = Vec::new();
    let mut path = "/v1/work-orders?limit=5&status=queued".to_owned();
    loop {
        let page = service.client.get(&path).await.body;
        seen.extend(
            page["workOrders"]
                .as_array()
                .unwrap()
                .iter()
                .map(|o| o["id"].as_str().unwrap().to_owned()),
        );
        service.client.post("/v1/work-orders", &order()).await;
        let Some(cursor) = page["nextCursor"].as_str() else {
            break;
        };
        path = format!("/v1/work-orders?limit=5&status=queued&cursor={cursor}");
    }
    assert_eq!(seen, made);
    let by_offset = service
        .client
        .get("/v1/work-orders?limit=3&offset=20")
        .await
        .body;
    assert_eq!(
        (
            by_offset["workOrders"].as_array().unwrap().len(),
            &by_offset["total"]
        ),
        (3, &json!(28))
    );
    let cursor = service.client.get("/v1/work-orders?limit=5").await.body["nextCursor"]
        .as_str()
        .unwrap()
        .to_owned();
    for bad in [
        format!("cursor={cursor}&status=queued"),
        format!("cursor=A{cursor}"),
        "limit=101".into(),
        "limit=x".into(),
        "limit=1&limit=2".into(),
        "offset=10001".into(),
        "unknown=1".into(),
        "status=done".into(),
    ] {
        let answer = service.client.get(&format!("/v1/work-orders?{bad}")).await;
        assert_eq!(answer.status, 400, "{bad}: {}", answer.text);
    }
}
