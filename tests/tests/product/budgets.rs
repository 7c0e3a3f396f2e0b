//! Budgets that are exhausted during an iteration, seen from outside: the run ends, and its charge
//! does not exceed its hold.

use awo_tests::agents::{order, submit};
use awo_tests::repository::Repository;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_only_burns_compute_ends_when_its_credits_are_used_and_costs_no_more_than_its_hold()
 {
    let service = TestService::start(1_000_000, &[("AWO_CREDITS_PER_MINUTE", "60")]).await;
    let repository = Repository::with(&[("README.md", "x\n")]);
    let mut asked = order(&repository.url(), "date > x; while :; do sleep 0.05; done");
    // The least that a work order may have: a minute of compute.
    asked["limits"] = json!({ "maxCredits": 60 });
    let made = submit(&service.client, &asked).await;
    let run = service.client.finished_run(&made).await;
    assert_eq!(run["status"], "failed", "{run:#}");
    assert_eq!(run["error"]["code"], "BUDGET_EXCEEDED", "{run:#}");
    assert_eq!(run["iteration"], 1, "{run:#}");
    assert!(run["commit"].is_string(), "what was done is kept: {run:#}");
    let charged = run["cost"]["credits"].as_f64().unwrap();
    assert!(charged > 0.0 && charged <= 60.0, "{run:#}");
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    let broken = dump.broken_rules(5);
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_profiles_limits_of_the_machine_hold_for_a_run_and_are_reported() {
    let service = TestService::start(1_000_000, &[]).await;
    let profile = json!({
        "name": "narrow",
        "loopStrategy": { "type": "fixed", "baseIterations": 1 },
        "executionLimits": { "maxProcesses": 16, "maxMemoryMb": 512, "maxDiskMb": 512 },
    });
    let made = service.client.post("/api/v1/profiles", &profile).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let judged = service
        .client
        .post("/api/v1/profiles/narrow/validate", &json!({}))
        .await;
    assert_eq!(judged.status, 200, "{}", judged.text);
    let repository = Repository::with(&[("README.md", "x\n")]);
    let mut asked = order(&repository.url(), "while :; do sleep 300 & done");
    asked["harness"] = json!("narrow");
    let made = submit(&service.client, &asked).await;
    let run = service.client.finished_run(&made).await;
    assert_eq!(run["error"]["code"], "AGENT_FAILED", "{run:#}");
    let message = run["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("executionLimits.maxProcesses is 16"),
        "{message}"
    );
}
