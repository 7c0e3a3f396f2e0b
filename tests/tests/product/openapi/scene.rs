//! An organization in which every operation has a result.

use std::io::Write as _;

use awo_domain::WebhookId;
use awo_domain::api_key::Scope;
use awo_domain::webhook::DeliveryStatus;
use awo_tests::client::{Answer, Client};
use awo_tests::contract::DOCUMENT;
use awo_tests::driven::DrivenRun;
use awo_tests::seed::Seed;
use awo_tests::service::TestService;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::http_api::quiet_service_with;

const PULL_REQUEST: &str = "https://github.com/example/almanac/pull/12";

/// The scene.
pub struct Scene {
    pub service: TestService,
    /// A work order that waits.
    pub waiting: String,
    /// A work order whose run was verified and succeeded.
    pub done: String,
    pub done_run: String,
    /// A work order that runs.
    pub running: String,
    /// A work order whose run failed.
    pub failed: String,
    pub webhook: String,
    /// A delivery of it that was given up.
    pub delivery: String,
}

/// The body that the document gives as an example.
pub fn example_body(method: &str, path: &str) -> Value {
    let body = &DOCUMENT["paths"][path][method]["requestBody"];
    let example = &body["content"]["application/json"]["example"];
    assert!(!example.is_null(), "{method} {path} has no example");
    example.clone()
}

impl Scene {
    pub async fn new() -> Scene {
        // Examples are the same however long a machine takes.
        let service = quiet_service_with(&[("AWO_CREDITS_PER_MINUTE", "0")]).await;
        let waiting = create(&service.client).await;
        let running = create(&service.client).await;
        DrivenRun::of(&service, &running.body)
            .await
            .iterate(1)
            .await;
        let failed = create(&service.client).await;
        let run = DrivenRun::of(&service, &failed.body).await;
        run.fail().await;
        run.free_slot().await;
        let done = watched(&service.client).await;
        let mut run = DrivenRun::of(&service, &done.body).await;
        run.iterate(1).await;
        let six = json!({ "executionLimits": { "maxIterations": 6 } });
        let put = [("content-type", "application/json")];
        let sent = service
            .client
            .send("PUT", WATCHED, &put, six.to_string().into_bytes());
        assert_eq!(sent.await.status, 200);
        report_a_whole_run(&mut run).await;
        run.free_slot().await;
        let id = |answer: &Answer, name: &str| answer.body[name].as_str().unwrap().to_owned();
        let (webhook, delivery) = listed_delivery(&service).await;
        Scene {
            webhook,
            delivery,
            waiting: id(&waiting, "id"),
            done: id(&done, "id"),
            done_run: id(&done, "runId"),
            running: id(&running, "id"),
            failed: id(&failed, "id"),
            service,
        }
    }

    pub fn client(&self) -> &Client {
        &self.service.client
    }

    /// A client whose key has no scope.
    pub async fn poor(&self) -> Client {
        self.service.key(&[], None).await
    }

    /// A client whose key has no request left.
    pub async fn used_up(&self) -> Client {
        self.service.key(&[Scope::All], Some(0)).await
    }
}

pub async fn create(client: &Client) -> Answer {
    let body = example_body("post", "/v1/work-orders");
    let made = client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made
}

/// A webhook with deliveries: one was given up, one is due.
async fn listed_delivery(service: &TestService) -> (String, String) {
    let body = example_body("post", "/v1/webhooks");
    let made = service.client.post("/v1/webhooks", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let id = made.body["webhook"]["id"].as_str().unwrap();
    let webhook = WebhookId::parse(id).unwrap();
    // Deliveries come from runs in their own time: here they are put into the store.
    let seed = Seed::of(&service.service.cloud, &service.org);
    let delivery = seed.delivery(&webhook, DeliveryStatus::Abandoned).await;
    seed.delivery(&webhook, DeliveryStatus::Pending).await;
    (id.to_owned(), delivery.id.to_string())
}

const WATCHED: &str = "/api/v1/profiles/watched";

/// A work order with a profile of its own.
async fn watched(client: &Client) -> Answer {
    let profile = json!({ "name": "watched", "executionLimits": { "maxIterations": 5 } });
    let made = client.post("/api/v1/profiles", &profile).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut order = example_body("post", "/v1/work-orders");
    order["harness"] = json!("watched");
    let made = client.post("/v1/work-orders", &order).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made
}

/// The gzip of a diff, in Base64.
fn gzip(text: &str) -> String {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    STANDARD.encode(gzip.finish().unwrap())
}

async fn report_a_whole_run(run: &mut DrivenRun) {
    let (base, commit) = ("a".repeat(40), "c".repeat(40));
    let results = json!([{
        "pluginId": "built-in:tests", "level": "L1", "status": "passed", "summary": "1 check passed",
        "checks": [{ "name": "unit", "status": "passed", "message": "exit code 0" }], "durationMs": 1234,
    }]);
    let usage = json!([{
        "usage": {
            "model": "claude-sonnet-4-5", "inputTokens": 1200, "outputTokens": 340, "cachedInputTokens": 800,
        },
        "costUsdNano": 6_540_000,
    }]);
    for event in [
        json!({ "type": "workspaceReady", "commit": base, "branch": "main", "workDir": "/workspaces/run" }),
        json!({ "type": "iterationStarted", "iteration": 2 }),
        json!({
            "type": "agentFinished", "iteration": 2, "completed": true, "exitCode": 0,
            "summary": "fixed it", "durationMs": 1234, "usage": usage,
        }),
        json!({ "type": "committed", "iteration": 2, "commit": commit, "filesChanged": 1 }),
        json!({ "type": "verificationStarted", "iteration": 2, "levels": ["L1"] }),
        json!({
            "type": "verificationFinished", "iteration": 2, "levels": ["L1"],
            "overallStatus": "passed", "summary": "1 check passed", "results": results,
        }),
        json!({ "type": "deliveryStarted" }),
        json!({ "type": "delivered", "branch": "awo/run", "commit": commit, "prUrl": PULL_REQUEST }),
    ] {
        run.report(event).await;
    }
    let text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n";
    let diff = json!({
        "iteration": 2, "baseCommit": base, "commit": commit, "diff": gzip(text), "bytes": text.len(),
    });
    let stored = run.control("diff", &diff).await;
    assert_eq!(stored.status, 200, "{}", stored.text);
    let log = json!({ "iteration": 2, "output": gzip("fixed it\n"), "bytes": 9 });
    let stored = run.control("logs", &log).await;
    assert_eq!(stored.status, 200, "{}", stored.text);
    let outcome = json!({
        "type": "succeeded", "commit": commit, "branch": "awo/run", "prUrl": PULL_REQUEST,
    });
    let body = json!({ "events": [], "outcome": outcome, "iterations": 2, "usage": usage });
    let finished = run.control("finish", &body).await;
    assert_eq!(finished.status, 200, "{}", finished.text);
}

impl Scene {
    /// Starts a run of the failed work order while another holds all credits.
    pub async fn start_without_credits(&self) -> Answer {
        let client = self.client();
        let credits = client.get("/v1/credits").await;
        let mut order = example_body("post", "/v1/work-orders");
        order["limits"]["maxCredits"] = credits.body["available"].clone();
        let holds = client.post("/v1/work-orders", &order).await;
        assert_eq!(holds.status, 201, "{}", holds.text);
        let path = format!("/api/v1/work-orders/{}/runs", self.failed);
        client.send("POST", &path, &[], Vec::new()).await
    }
}
