//! Positions of work orders in the queue, and the queue's health.

use std::time::Duration;

use awo_domain::Timestamp;
use awo_tests::client::{Answer, Client};
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::order;

/// What a run is thought to take where none has finished.
const USUAL_MS: i64 = 5 * 60_000;

async fn service(max_queue_size: &str) -> TestService {
    let settings = [
        ("AWO_MAX_CONCURRENT", "0"),
        ("AWO_MAX_QUEUE_SIZE", max_queue_size),
    ];
    TestService::start(1_000_000, &settings).await
}

async fn submit(service: &TestService, tenant: Option<&str>) -> Value {
    let mut body = order();
    if let Some(tenant) = tenant {
        body["tenantContext"] = json!({ "tenantId": tenant });
    }
    let made = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

async fn position_of(client: &Client, order: &Value) -> Answer {
    let id = order["id"].as_str().unwrap();
    client.get(&format!("/api/v1/queue/position/{id}")).await
}

async fn position(service: &TestService, order: &Value) -> Value {
    let answer = position_of(&service.client, order).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.body["success"], true);
    assert_eq!(answer.body["requestId"], answer.header("x-request-id"));
    assert_eq!(answer.body["data"]["workOrderId"], order["id"]);
    answer.body["data"].clone()
}

async fn positions(service: &TestService, orders: &[Value]) -> Vec<u64> {
    let mut positions = Vec::new();
    for order in orders {
        let one = position(service, order).await;
        positions.push(one["position"].as_u64().unwrap());
    }
    positions
}

fn time(value: &Value) -> Timestamp {
    Timestamp::parse(value.as_str().expect("a time")).expect("a time")
}

#[tokio::test]
async fn positions_are_the_order_in_which_tenants_take_their_turns() {
    let service = service("100").await;
    let mut orders = Vec::new();
    for tenant in ["a", "a", "a", "b", "c"] {
        orders.push(submit(&service, Some(tenant)).await);
    }
    assert_eq!(positions(&service, &orders).await, [1, 4, 5, 2, 3]);
    // Once the first one of a runs, it is b's turn.
    DrivenRun::of(&service, &orders[0]).await;
    assert_eq!(positions(&service, &orders).await, [0, 3, 4, 1, 2]);
}

#[tokio::test]
async fn a_work_order_waits_runs_completes_and_leaves_the_queue() {
    let service = service("100").await;
    let first = submit(&service, None).await;
    let second = submit(&service, None).await;
    let before = service.service.cloud.clock.now();
    let waiting = position(&service, &second).await;
    assert_eq!(
        (&waiting["state"], &waiting["position"]),
        (&json!("waiting"), &json!(2))
    );
    assert_eq!(waiting["enqueuedAt"], second["createdAt"]);
    let wait = time(&waiting["estimatedStartTime"]).ms_since(before);
    assert!(
        (2 * USUAL_MS..2 * USUAL_MS + 60_000).contains(&wait),
        "{wait}"
    );

    let mut run = DrivenRun::of(&service, &first).await;
    run.iterate(1).await;
    let running = position(&service, &first).await;
    let wanted = json!({
        "workOrderId": first["id"], "position": 0, "state": "running", "enqueuedAt": first["createdAt"],
    });
    assert_eq!(running, wanted);

    run.succeed().await;
    let mut wanted = wanted;
    wanted["state"] = json!("completed");
    assert_eq!(
        position(&service, &first).await,
        wanted,
        "its slot is not free yet"
    );
    run.free_slot().await;
    let gone = position_of(&service.client, &first).await;
    assert_eq!(
        (gone.status, &gone.body["error"]["code"]),
        (404, &json!("NOT_FOUND"))
    );

    // From now on the estimate is what that run took.
    let run = service
        .client
        .get(&format!("/v1/runs/{}", run.run_id))
        .await
        .body;
    let took = time(&run["completedAt"]).ms_since(time(&run["startedAt"]));
    let before = service.service.cloud.clock.now();
    let waiting = position(&service, &second).await;
    assert_eq!(waiting["position"], 1);
    let wait = time(&waiting["estimatedStartTime"]).ms_since(before);
    assert!(
        (took..took + 60_000).contains(&wait),
        "{wait} after a run of {took} ms"
    );
}

#[tokio::test]
async fn a_work_order_outside_of_the_queue_has_no_position() {
    let service = service("100").await;
    let order = submit(&service, None).await;
    let (_, stranger) = service.another_org(1).await;
    let unknown = json!({ "id": "wo_01k00000000000000000000000" });
    for (client, order) in [
        (&stranger, &order),
        (&service.client, &unknown),
        (&service.client, &json!({ "id": "nonsense" })),
    ] {
        let answer = position_of(client, order).await;
        assert_eq!(answer.status, 404, "{}", answer.text);
        assert_eq!(answer.body["error"]["code"], "NOT_FOUND");
        assert_eq!(answer.body["success"], false);
    }
    let bad = service.client.get("/api/v1/queue/health?deep=1").await;
    assert_eq!(
        (bad.status, &bad.body["error"]["code"]),
        (400, &json!("BAD_REQUEST"))
    );
}

#[tokio::test]
async fn health_goes_from_healthy_over_degraded_to_unhealthy_as_the_queue_fills() {
    let service = service("6").await;
    let mut first = Value::Null;
    for waiting in 0..=6 {
        let answer = service.client.get("/api/v1/queue/health").await;
        let (status, health) = match waiting {
            0..=4 => (200, "healthy"),
            5 => (200, "degraded"),
            _ => (503, "unhealthy"),
        };
        assert_eq!(answer.status, status, "{}", answer.text);
        assert_eq!(answer.body["success"], true);
        let mut data = answer.body["data"].clone();
        let age = service
            .service
            .cloud
            .clock
            .now()
            .ms_since(time(&data["timestamp"]));
        assert!(age < 60_000);
        data.as_object_mut().unwrap().remove("timestamp");
        let wanted = json!({
            "status": health,
            "stats": { "running": 0, "waiting": waiting, "maxConcurrent": 0, "maxQueueSize": 6, "accepting": waiting < 6 },
            "utilization": f64::from(waiting) / 6.0,
            "indicators": { "accepting": waiting < 6, "canStartImmediately": false, "queueDepth": waiting, "runningCount": 0 },
        });
        assert_eq!(data, wanted);
        if waiting < 6 {
            first = submit(&service, None).await;
        }
    }
    let refused = service.client.post("/v1/work-orders", &order()).await;
    assert_eq!(
        refused.status, 503,
        "the reported limit is the effective one"
    );
    let mut run = DrivenRun::of(&service, &first).await;
    let stats =
        async || service.client.get("/api/v1/queue/health").await.body["data"]["stats"].clone();
    assert_eq!(stats().await["running"], 1);
    run.succeed().await;
    assert_eq!(stats().await["running"], 1, "its compute is still stopping");
    run.free_slot().await;
    assert_eq!(stats().await["running"], 0);
    let store = service.service.cloud.store().unwrap();
    store
        .set_limits(&service.org, Some(7), Some(9))
        .await
        .unwrap();
    let health = service.client.get("/api/v1/queue/health").await.body["data"].clone();
    assert_eq!(
        (
            &health["stats"]["maxConcurrent"],
            &health["stats"]["maxQueueSize"]
        ),
        (&json!(7), &json!(9))
    );
    assert_eq!(health["indicators"]["canStartImmediately"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_is_found_at_every_moment_while_the_work_order_changes() {
    let service = service("100").await;
    for _ in 0..5 {
        let order = submit(&service, None).await;
        let (client, asked) = (service.client.clone(), order.clone());
        let asking = tokio::spawn(async move {
            let mut states = Vec::new();
            let began = std::time::Instant::now();
            while states.last() != Some(&json!("running")) {
                let answer = position_of(&client, &asked).await;
                assert_eq!(answer.status, 200, "{}", answer.text);
                states.push(answer.body["data"]["state"].clone());
                assert!(began.elapsed() < Duration::from_secs(20));
            }
        });
        DrivenRun::of(&service, &order).await;
        asking.await.unwrap();
    }
}

#[tokio::test]
async fn compute_that_still_stops_says_nothing_of_the_run_after_it() {
    let service = service("100").await;
    let order = submit(&service, None).await;
    let old = DrivenRun::of(&service, &order).await;
    old.fail().await;
    assert_eq!(position(&service, &order).await["state"], "completed");
    let path = format!("/api/v1/work-orders/{}", order["id"].as_str().unwrap());
    let started = service
        .client
        .post(&format!("{path}/runs"), &json!({}))
        .await;
    assert_eq!(started.status, 201, "{}", started.text);
    let again = position(&service, &order).await;
    assert_eq!(
        (&again["state"], &again["position"]),
        (&json!("waiting"), &json!(1))
    );
    assert!(time(&again["enqueuedAt"]) > time(&order["createdAt"]));
    let canceled = service.client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    let stopping = position(&service, &order).await;
    assert_eq!(
        stopping["state"], "completed",
        "its old compute still stops"
    );
    old.free_slot().await;
    assert_eq!(position_of(&service.client, &order).await.status, 404);
}
