//! An organization in which every operation has something to show.

use awo_domain::api_key::Scope;
use awo_tests::client::{Answer, Client};
use awo_tests::contract::DOCUMENT;
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::quiet_service;

/// The scene.
pub struct Scene {
    pub service: TestService,
    /// A work order that waits.
    pub waiting: String,
    pub waiting_run: String,
    /// A work order whose run was verified and succeeded.
    pub done: String,
    pub done_run: String,
    /// A work order that runs.
    pub running: String,
    /// A work order whose run failed.
    pub failed: String,
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
        let service = quiet_service().await;
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
        let done = create(&service.client).await;
        let mut run = DrivenRun::of(&service, &done.body).await;
        tell_a_whole_run(&mut run).await;
        run.free_slot().await;
        let id = |answer: &Answer, name: &str| answer.body[name].as_str().unwrap().to_owned();
        Scene {
            waiting: id(&waiting, "id"),
            waiting_run: id(&waiting, "runId"),
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

async fn tell_a_whole_run(run: &mut DrivenRun) {
    let (base, commit) = ("a".repeat(40), "c".repeat(40));
    let results = json!([{
        "pluginId": "built-in:tests", "level": "L1", "status": "passed", "summary": "1 check passed",
        "checks": [{ "name": "unit", "status": "passed", "message": "exit code 0" }], "durationMs": 1234,
    }]);
    let usage = json!([{
        "model": "claude-sonnet-4-5", "inputTokens": 1200, "outputTokens": 340, "cachedInputTokens": 800,
    }]);
    for event in [
        json!({ "type": "workspaceReady", "commit": base, "branch": "main", "workDir": "/workspaces/run" }),
        json!({ "type": "iterationStarted", "iteration": 1 }),
        json!({
            "type": "agentFinished", "iteration": 1, "completed": true, "exitCode": 0,
            "summary": "mended it", "durationMs": 1234, "usage": usage,
        }),
        json!({ "type": "committed", "iteration": 1, "commit": commit, "filesChanged": 1 }),
        json!({ "type": "verificationStarted", "iteration": 1, "levels": ["L1"] }),
        json!({
            "type": "verificationFinished", "iteration": 1, "levels": ["L1"],
            "overallStatus": "passed", "summary": "1 check passed", "results": results,
        }),
        json!({ "type": "deliveryStarted" }),
        json!({ "type": "delivered", "branch": "awo/run", "commit": commit }),
    ] {
        run.tell(event).await;
    }
    let outcome = json!({ "type": "succeeded", "commit": commit, "branch": "awo/run" });
    let body = json!({ "events": [], "outcome": outcome, "iterations": 1, "usage": usage });
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
