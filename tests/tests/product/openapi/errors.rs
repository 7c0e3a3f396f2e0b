//! One body of every error, in both styles.

use awo_tests::client::Answer;
use awo_tests::counted_requests::CountedRequests;
use awo_tests::service::TestService;
use serde_json::json;

use super::scene::{Scene, create, example_body};
use super::timeless::example;

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
async fn every_error_has_one_body_in_each_style() {
    let scene = Scene::new().await;
    let client = scene.client();
    let (poor, used_up) = (scene.poor().await, scene.used_up().await);
    let (_, penniless) = scene.service.another_org(0).await;
    let broken = CountedRequests::with(&scene.service, &[("AWO_SETTINGS_TABLE", "gone")]).await;
    let broken = broken.for_client(client);
    let nobody = client.with_key(None);
    let json = ("content-type", "application/json");
    let order = example_body("post", "/v1/work-orders");
    let order_of = |prompt: &str| {
        let mut order = order.clone();
        order["taskPrompt"] = json!(prompt);
        order.to_string().into_bytes()
    };
    let keyed = [json, ("idempotency-key", "one")];
    let huge = || order_of(&"x".repeat(300_000));
    let Scene {
        done,
        done_run,
        waiting,
        ..
    } = &scene;
    let start = format!("/api/v1/work-orders/{waiting}/runs");
    let unknown = waiting.replace("wo_0", "wo_1");
    client
        .send("POST", "/v1/work-orders", &keyed, order_of("one"))
        .await;
    client.send("POST", &start, &keyed[1..], Vec::new()).await;
    let plain: Vec<(u16, Answer)> = vec![
        (
            400,
            client
                .post(
                    "/v1/work-orders",
                    &json!({ "taskPrompt": "", "workspaceSource": { "type": "git" }, "more": 1 }),
                )
                .await,
        ),
        (401, nobody.get("/v1/credits").await),
        (
            402,
            penniless
                .send("POST", "/v1/work-orders", &[json], order_of("one"))
                .await,
        ),
        (403, poor.get("/v1/credits").await),
        (404, client.get(&format!("/v1/work-orders/{unknown}")).await),
        (
            409,
            client
                .send(
                    "POST",
                    &format!("/v1/runs/{done_run}/cancel"),
                    &[],
                    Vec::new(),
                )
                .await,
        ),
        (
            413,
            client
                .send("POST", "/v1/work-orders", &[json], huge())
                .await,
        ),
        (
            415,
            client
                .send(
                    "POST",
                    "/v1/work-orders",
                    &[("content-type", "text/plain")],
                    order_of("one"),
                )
                .await,
        ),
        (
            422,
            client
                .send("POST", "/v1/work-orders", &keyed, order_of("two"))
                .await,
        ),
        (429, used_up.get("/v1/credits").await),
        (500, broken.get("/v1/credits").await),
    ];
    for (status, answer) in &plain {
        example("plain-error", *status, answer);
    }
    let kill = format!("/api/v1/work-orders/{done}/kill");
    let envelope: Vec<(u16, Answer)> = vec![
        (
            400,
            client
                .post(&kill, &json!({ "gracePeriodMs": 40_000, "now": true }))
                .await,
        ),
        (401, nobody.get("/api/v1/queue/health").await),
        (402, scene.start_without_credits().await),
        (403, poor.get("/api/v1/queue/health").await),
        (
            404,
            client
                .get(&format!("/api/v1/queue/position/{unknown}"))
                .await,
        ),
        (
            409,
            client
                .send(
                    "DELETE",
                    &format!("/api/v1/work-orders/{done}"),
                    &[],
                    Vec::new(),
                )
                .await,
        ),
        (413, client.send("POST", &kill, &[json], huge()).await),
        (
            415,
            client
                .send(
                    "POST",
                    &kill,
                    &[("content-type", "text/plain")],
                    b"{}".to_vec(),
                )
                .await,
        ),
        (
            422,
            client
                .send("POST", &start, &[json, keyed[1]], b"{}".to_vec())
                .await,
        ),
        (429, used_up.get("/api/v1/queue/health").await),
        (500, broken.get("/api/v1/queue/health").await),
    ];
    for (status, answer) in &envelope {
        example("envelope-error", *status, answer);
    }
    full_queue().await;
}

/// A queue without room: creating is 503, and so is its health.
async fn full_queue() {
    let settings = [("AWO_MAX_CONCURRENT", "0"), ("AWO_MAX_QUEUE_SIZE", "1")];
    let full = TestService::start(1_000_000, &settings).await;
    create(&full.client).await;
    let body = example_body("post", "/v1/work-orders");
    let refused = full.client.post("/v1/work-orders", &body).await;
    example("plain-error", 503, &refused);
    let health = full.client.get("/api/v1/queue/health").await;
    example("get-queue-health", 503, &health);
}
